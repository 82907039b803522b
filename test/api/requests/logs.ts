import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { apiClient, chat, eventually } from "../../support/api-client.ts";
import { call, JSON_TYPE, MODEL, STRANGER, type World } from "./world.ts";

type Line = { level: number; requestId?: string; jobId?: string; path?: string; status?: number; msg: string };

/** What is in the logs, and what must never be. Runs last: everything the files before it sent is in them too. */
export function logs(world: World): void {
  const text = () => readFileSync(join(world.stack.options.dataDir, "logs", "api.log"), "utf8");
  const lines = (): Line[] =>
    text()
      .split("\n")
      // The last one may be half written.
      .slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));

  describe("the gateway's log", () => {
    it("has a line for each request, with its request id and its job", async () => {
      const reply = await world.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
      const requestId = reply.headers.get("x-request-id");
      const found = await eventually(
        async () => lines().filter((line) => line.requestId === requestId),
        (matching) => matching.length > 0,
      );
      expect(found).toMatchObject([
        { msg: "request", path: "/v1/chat/completions", status: 200, jobId: reply.headers.get("x-service-job-id") },
      ]);
    });

    it("never holds a prompt, an answer, a key or a secret, whatever goes wrong", async () => {
      const secret = `zebra${randomUUID().replaceAll("-", "")}`;
      const key = await world.keys.regenerate(STRANGER);
      const stream = await world.api.request("POST", "/v1/chat/completions", chat(MODEL, secret, { stream: true }));
      const answers = [await stream.text()];
      answers.push((await world.api.post("/v1/chat/completions", chat(MODEL, secret))).body.choices[0].message.content);
      await world.api.post("/v1/chat/completions", chat("none", secret));
      await world.api.post("/v1/chat/completions", chat(MODEL, secret, { user: secret, temperature: secret }));
      await apiClient(world.stack, key).post("/v1/chat/completions", chat(MODEL, secret));
      await apiClient(world.stack, `svc_live_${secret}`).get("/v1/models");
      await call(world, "POST", "/v1/chat/completions", JSON_TYPE, `{"model": "${secret}`);
      await call(world, "GET", `/v1/jobs?model=${secret}&before=${secret}`);
      await call(
        world,
        "POST",
        "/v1/chat/completions",
        { ...JSON_TYPE, "idempotency-key": secret },
        JSON.stringify(chat(MODEL, secret)),
      );
      const last = await world.api.get("/v1/models");
      await eventually(
        async () => text(),
        (log) => log.includes(last.headers.get("x-request-id") as string),
      );
      // Without this, an empty log would pass.
      expect(answers[1]).toContain(" ");
      const words = (answers[1] as string).slice(0, 40);
      const { masterKey, postgresPassword, workerKeys } = JSON.parse(
        readFileSync(join(world.stack.options.dataDir, "secrets.json"), "utf8"),
      );
      const never = [secret, words, key, world.stack.info.demo?.api_key, masterKey, postgresPassword, ...workerKeys];
      const log = text();
      for (const [index, value] of never.entries()) expect(log.includes(value), `secret ${index}`).toBe(false);
      expect(log).not.toMatch(/svc_live_|Bearer /);
    });

    it("has no error of the gateway's own after all that was sent to it", () => {
      expect(lines().filter(({ level }) => level >= 50)).toEqual([]);
    });
  });
}
