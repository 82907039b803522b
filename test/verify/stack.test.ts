/** The whole service: a chat that is paid for, verified without it, and keys that an operator rules over. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOperator } from "../../scripts/operator.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { failing, verifyJob, verifyJson } from "./support/cli.ts";

let stack: TestStack;
let api: ApiClient;
let env: { DATA_DIR: string };
beforeAll(async () => {
  stack = await startTestStack({ workers: [{ models: ["qwen3-8b"] }] });
  api = apiClient(stack);
  env = { DATA_DIR: stack.options.dataDir };
});
afterAll(() => stack?.remove());

describe("verify-job beside the running service", () => {
  it("needs the job's id and the received text only: stack.json says the rest", async () => {
    const reply = await api.post("/v1/chat/completions", chat("qwen3-8b", "Say hello."));
    expect(reply.status).toBe(200);
    const jobId = reply.headers.get("x-service-job-id") as string;
    await eventually(
      () => api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "settled",
    );
    const file = join(env.DATA_DIR, "answer.txt");
    writeFileSync(file, reply.body.choices[0].message.content);
    const { code, output } = await verifyJob([jobId, "--text-file", file], env);
    expect(output).toMatch(/the text is the one the worker signed/);
    expect(output).toMatch(/All \d+ checks hold/);
    expect(code).toBe(0);

    // What the API said is what the chain says.
    const job = (await api.get(`/v1/jobs/${jobId}`)).body;
    const { report } = await verifyJson([job.on_chain.settlement_tx], env);
    const found = report.jobs.find((one: { job_id: string }) => one.job_id === jobId);
    expect(failing(found.checks)).toEqual([]);
    expect(found).toMatchObject({
      credits_charged: job.credits_charged,
      worker: job.worker_address,
      escrow_tx: job.on_chain.escrow_tx,
      proof_hash: `0x${job.on_chain.proof_hash.slice("sha256:".length)}`,
    });
    expect((await verifyJson(["--from-block", "0"], env)).code).toBe(0);
  });
});

describe("keys", () => {
  const operator = (...argv: string[]) => runOperator(argv, env);

  it("are suspended and freed for the very next request", async () => {
    const wallet = stack.info.demo?.wallet as string;
    await operator("keys", "suspend", wallet);
    expect(await api.get("/v1/account")).toMatchObject({ status: 403, body: { error: { code: "key_suspended" } } });
    expect(JSON.parse(await operator("keys", "list", "--json"))).toMatchObject([
      { wallet: wallet.toLowerCase(), status: "suspended" },
    ]);
    await operator("keys", "unsuspend", wallet);
    expect((await api.get("/v1/account")).status).toBe(200);
  });

  it("are created once, and revoked for the very next request", async () => {
    const wallet = stack.info.demo?.wallet as string;
    await expect(operator("keys", "create", wallet)).rejects.toThrow(/has a key; revoke it first/);
    await operator("keys", "revoke", wallet);
    expect(await api.get("/v1/account")).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    await expect(operator("keys", "revoke", wallet)).rejects.toThrow(/has no key/);
    const { api_key: key } = JSON.parse(await operator("keys", "create", wallet, "--json"));
    expect(key).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
    expect((await apiClient(stack, key).get("/v1/account")).body.wallet.toLowerCase()).toBe(wallet.toLowerCase());
    expect(await operator("keys", "list", "--all")).toContain("revoked");
  });
});
