import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { chat, eventually } from "../../support/api-client.ts";
import { MODEL, type World } from "./world.ts";

/** Clients that mean harm: the gateway stays up and serves the others. */
export function hostile(world: World): void {
  describe("a client", () => {
    afterEach(async () => {
      // Every test leaves a gateway that serves.
      expect((await world.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).status).toBe(200);
    });

    it("of HTTP/1.0 gets its stream, without trailers", async () => {
      const body = JSON.stringify(chat(MODEL, "Hello", { stream: true }));
      const head = `POST /v1/chat/completions HTTP/1.0\r\nauthorization: Bearer ${world.stack.info.demo?.api_key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
      const text = await new Promise<string>((resolve, reject) => {
        const { port, hostname } = new URL(world.stack.info.base_url);
        const socket = connect(Number(port), hostname, () => socket.write(head + body));
        let received = "";
        socket.on("data", (data) => {
          received += data;
        });
        socket.on("end", () => resolve(received));
        socket.on("error", reject);
      });
      expect(text).toMatch(/^HTTP\/1\.[01] 200/);
      expect(text).toContain("data: [DONE]");
    });

    it("with four megabytes of one letter is answered while others are served", async () => {
      const endless = world.api.post("/v1/chat/completions", chat(MODEL, "a".repeat(4_000_000)));
      const other = await world.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
      expect(other.status).toBe(200);
      expect((await endless).body.error.code).toBe("context_length_exceeded");
      const spaces = await world.api.post(
        "/v1/chat/completions",
        chat(MODEL, " ".repeat(180_000), { max_tokens: 32_000 }),
      );
      expect([200, 400]).toContain(spaces.status);
    });

    it("may write about control tokens", async () => {
      const reply = await world.api.post(
        "/v1/chat/completions",
        chat(MODEL, "What is <|endoftext|>?", { max_tokens: 32_700 }),
      );
      expect(reply.status).toBe(200);
    });

    it("with a path that is no text gets 400", async () => {
      const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
        const call = httpRequest(
          `${world.stack.info.base_url}/v1/jobs/x`,
          { path: "/v1/jobs/%E0%A4%A", headers: { authorization: `Bearer ${world.stack.info.demo?.api_key}` } },
          (response) => {
            let text = "";
            response.on("data", (data) => {
              text += data;
            });
            response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
          },
        );
        call.on("error", reject);
        call.end();
      });
      expect(status).toBe(400);
      expect(JSON.parse(body).error.code).toBe("invalid_request");
    });

    it("with deeply nested JSON and an Idempotency-Key gets a clear answer", async () => {
      const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
      const response = await fetch(`${world.stack.info.base_url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${world.stack.info.demo?.api_key}`,
          "content-type": "application/json",
          "idempotency-key": "nested",
        },
        body: `{"model": "${MODEL}", "messages": [{"role": "user", "content": "Hello"}], "metadata": ${nested}}`,
      });
      expect([200, 400]).toContain(response.status);
    });

    it("that leaves its streams half-way leaves nothing behind", async () => {
      const timers = async () => {
        const text = await (await fetch(`${world.stack.info.base_url}/metrics`)).text();
        return Number(/nodejs_active_resources\{type="Timeout"\} (\d+)/.exec(text)?.[1] ?? 0);
      };
      const round = async () => {
        await Promise.all(
          Array.from({ length: 20 }, async () => {
            const stop = new AbortController();
            const body = chat(MODEL, "Write. [[tokens:1500]]", { stream: true });
            const response = await world.api.request("POST", "/v1/chat/completions", body, stop.signal);
            await response.body?.getReader().read();
            stop.abort();
          }),
        );
        return eventually(timers, (count) => count < 40);
      };
      await round();
      await round();
      await round();
    });
  });
}
