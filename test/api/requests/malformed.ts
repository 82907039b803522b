import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import type { World } from "./world.ts";

/** What arrives on the port and is no HTTP request. */
export function malformed(world: World): void {
  describe("what is no HTTP request", () => {
    const send = (bytes: string) =>
      new Promise<string>((resolve, reject) => {
        const { port, hostname } = new URL(world.stack.info.base_url);
        const socket = connect(Number(port), hostname, () => socket.write(bytes));
        let received = "";
        socket.on("data", (data) => {
          received += data;
        });
        socket.on("close", () => resolve(received));
        // A server that has answered need not read what is left of this: then the connection is reset.
        socket.on("error", (error) => received === "" && reject(error));
      });

    it.each([
      ["garbage", "\u0000\u0001 nonsense\r\n\r\n"],
      ["headers without end", `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-long: ${"a".repeat(20_000)}\r\n\r\n`],
      ["two lengths", "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    ])("%s: 400 with the error body", async (_name, bytes) => {
      const answer = await send(bytes);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
      expect(JSON.parse(answer.split("\r\n\r\n")[1] as string).error).toEqual({
        code: "invalid_request",
        message: expect.any(String),
        type: "invalid_request_error",
        param: null,
        docs: `${world.stack.info.base_url}/docs/errors#invalid_request`,
      });
    });

    it("an Expect header that nobody knows is passed over", async () => {
      const head = "GET /v1/models HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n";
      const answer = await send(`${head}authorization: Bearer ${world.stack.info.demo?.api_key}\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    });
  });
}
