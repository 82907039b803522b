/** What an operator sees of the service: its log and its metrics, and nothing of its clients' secrets. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { apiClient, chat, eventually, JSON_TYPE } from "../support/api-client.ts";
import { MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, pool, client } = await openService();

type Line = { level: number; requestId?: string; jobId?: string; path?: string; status?: number; msg: string };

const text = () => readFileSync(join(stack.dataDir, "logs", "api.log"), "utf8");
const lines = (): Line[] =>
  text()
    .split("\n")
    // The last one may be half written.
    .slice(0, -1)
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

describe("the gateway's log", () => {
  it("has a line for each request, with its request id and its job", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
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
    const key = await new Keys(pool).regenerate(privateKeyToAddress(generatePrivateKey()));
    const stream = await client.api.request("POST", "/v1/chat/completions", chat(MODEL, secret, { stream: true }));
    const answers = [await stream.text()];
    answers.push((await client.api.post("/v1/chat/completions", chat(MODEL, secret))).body.choices[0].message.content);
    await client.api.post("/v1/chat/completions", chat("none", secret));
    await client.api.post("/v1/chat/completions", chat(MODEL, secret, { user: secret, temperature: secret }));
    await apiClient(stack, key).post("/v1/chat/completions", chat(MODEL, secret));
    await apiClient(stack, `svc_live_${secret}`).get("/v1/models");
    await client.api.send("POST", "/v1/chat/completions", JSON_TYPE, `{"model": "${secret}`);
    await client.api.send("GET", `/v1/jobs?model=${secret}&before=${secret}`);
    await client.api.send(
      "POST",
      "/v1/chat/completions",
      { ...JSON_TYPE, "idempotency-key": secret },
      JSON.stringify(chat(MODEL, secret)),
    );
    const last = await client.api.get("/v1/models");
    await eventually(
      async () => text(),
      (log) => log.includes(last.headers.get("x-request-id") as string),
    );
    // Without this, an empty log would pass.
    expect(answers[1]).toContain(" ");
    const words = (answers[1] as string).slice(0, 40);
    const { masterKey, postgresPassword, workerKeys } = JSON.parse(
      readFileSync(join(stack.dataDir, "secrets.json"), "utf8"),
    );
    const never = [secret, words, key, client.apiKey, masterKey, postgresPassword, ...workerKeys];
    const log = text();
    for (const [index, value] of never.entries()) expect(log.includes(value), `secret ${index}`).toBe(false);
    expect(log).not.toMatch(/svc_live_|Bearer /);
  });
});

describe("the operator's routes", () => {
  it("answer without a key", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      expect((await fetch(`${stack.info.base_url}${path}`)).status).toBe(200);
    }
  });

  it("/metrics counts requests, jobs, batches and what workers do", async () => {
    const scrape = async () => (await fetch(`${stack.info.base_url}/metrics`)).text();
    const valueIn = (text: string, line: string) =>
      Number(
        text
          .split("\n")
          .find((each) => each.startsWith(line))
          ?.split(" ")
          .at(-1),
      );
    for (let i = 0; i < 4; i++) await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"));
    // The last jobs are being settled, and a worker that missed a probe takes the next one.
    const text = await eventually(
      scrape,
      (now) =>
        valueIn(now, 'gateway_operations_total{kind="complete",outcome="mined"}') > 3 &&
        valueIn(now, 'gateway_jobs_total{state="settled"}') > 3 &&
        /gateway_worker_healthy\{worker="0x[0-9a-fA-F]{40}"\} 1/.test(now),
    );
    const value = (line: string) => valueIn(text, line);
    expect(value('gateway_requests_total{route="/v1/chat/completions",method="POST",status="200"}')).toBeGreaterThan(3);
    expect(value("gateway_batch_items_count")).toBeGreaterThan(3);
    expect(value("gateway_index_lag_blocks")).toBeGreaterThanOrEqual(0);
    expect(value("gateway_signer_balance_ether")).toBeGreaterThan(1);
    expect(value("gateway_gas_ether_total")).toBeGreaterThan(0);
    expect(value("gateway_charged_credits_total")).toBeGreaterThan(3);
    expect(value("gateway_wallet_unpaid_jobs")).toBeGreaterThanOrEqual(0);
    expect(text).not.toMatch(/job_[0-9a-f]{32}/);
  });
});
