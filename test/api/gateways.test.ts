/** Two gateways on one database and one chain: what one of them is told holds for the other at once. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { createPublicClient, createWalletClient, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../api/accounts/keys.ts";
import { openDatabase } from "../../api/store/database.ts";
import { DEPLOYER_KEY, GATEWAY } from "../../scripts/local-stack/accounts.ts";
import { freePorts } from "../../scripts/local-stack/ports.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { mined } from "../support/mined.ts";
import { Part, ROOT } from "../support/processes.ts";
import { type Stack, startTestStack, type TestStack } from "../support/stack.ts";

const MODEL = "qwen3-8b";
const SECOND_KEY = generatePrivateKey();
const SECOND = privateKeyToAccount(SECOND_KEY);

let stack: TestStack;
/** The same stack as seen through the second gateway. */
let other: Stack;
let second: ChildProcess;
let keys: Keys;
let pool: ReturnType<typeof openDatabase>;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: [MODEL] }],
    gatewayKeys: [SECOND_KEY],
  });
  await giveGas();
  other = await startSecond();
  pool = openDatabase(stack.info.database_url, pino({ level: "silent" }), 2);
  keys = new Keys(pool);
});
afterAll(async () => {
  await pool?.end();
  if (second?.exitCode === null && second.signalCode === null) {
    const ended = new Promise((resolve) => second.once("exit", resolve));
    second.kill("SIGTERM");
    await ended;
  }
  await stack?.remove();
});

async function giveGas(): Promise<void> {
  const funder = createWalletClient({
    account: privateKeyToAccount(DEPLOYER_KEY),
    transport: http(stack.info.rpc_url),
  });
  const hash = await funder.sendTransaction({ to: SECOND.address, value: parseEther("10"), chain: null });
  await mined(createPublicClient({ transport: http(stack.info.rpc_url) }), hash);
}

/** The environment of one more gateway process beside the stack's own. */
async function environment(signer: string): Promise<NodeJS.ProcessEnv & { BASE_URL: string }> {
  const { api: port } = await freePorts(0);
  const { masterKey } = JSON.parse(readFileSync(join(stack.options.dataDir, "secrets.json"), "utf8"));
  return {
    ...stack.options.baseEnv,
    API_PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    DATABASE_URL: stack.info.database_url,
    RPC_URL: stack.info.rpc_url,
    DEPLOYMENT_FILE: stack.deploymentFile,
    GATEWAY_PRIVATE_KEY: signer,
    MASTER_KEY: masterKey,
    ALLOW_LOCAL_ENDPOINTS: "true",
  };
}

async function startSecond(): Promise<Stack> {
  const env = { ...(await environment(SECOND_KEY)), STOP_DELAY_SECONDS: "15" };
  const baseUrl = env.BASE_URL;
  second = spawn(process.execPath, ["api/main.ts"], { stdio: "ignore", env });
  const ready = () =>
    fetch(`${baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(ready, Boolean);
  return { ...stack, info: { ...stack.info, base_url: baseUrl } };
}

const both = (key: string): [ApiClient, ApiClient] => [apiClient(stack, key), apiClient(other, key)];
const wallet = () => stack.info.demo?.wallet as string;

describe("a second process with the signer of a running one", () => {
  it("does not start, and says whose signer it is", async () => {
    const env = await environment(GATEWAY.privateKey);
    const part = new Part("gateway", process.execPath, ["api/main.ts"], { cwd: ROOT, env });
    expect(await part.exited).toBe(1);
    expect(part.output).toContain(
      `Another process sends transactions as ${GATEWAY.address}: stop it, or give this one`,
    );
    expect((await fetch(`${stack.info.base_url}/readyz`)).status).toBe(200);
  });
});

describe("a key", () => {
  const owner = privateKeyToAccount(generatePrivateKey()).address;

  it("revoked through one gateway is refused by both with the very next request", async () => {
    const key = await keys.regenerate(owner);
    for (const gateway of both(key)) expect((await gateway.get("/v1/account")).status).toBe(200);
    await keys.revoke(owner);
    for (const gateway of both(key)) {
      const { status, body } = await gateway.get("/v1/account");
      expect(status).toBe(401);
      expect(body.error.code).toBe("invalid_api_key");
    }
  });

  it("suspended is refused by both with 403 key_suspended, and taken again by both once released", async () => {
    const key = await keys.regenerate(owner);
    for (const gateway of both(key)) expect((await gateway.get("/v1/account")).status).toBe(200);
    await keys.setSuspended(owner, true);
    for (const gateway of both(key)) {
      const { status, body } = await gateway.get("/v1/account");
      expect(status).toBe(403);
      expect(body.error.code).toBe("key_suspended");
    }
    await keys.setSuspended(owner, false);
    for (const gateway of both(key)) expect((await gateway.get("/v1/account")).status).toBe(200);
  });
});

describe("two gateways", () => {
  const demo = () => both(stack.info.demo?.api_key as string);

  it("serve one account: jobs, answers and the balance of one are seen through the other", async () => {
    const [first, second] = demo();
    for (const [asked, reader] of [
      [first, second],
      [second, first],
    ] as const) {
      const reply = await asked.post("/v1/chat/completions", chat(MODEL, "Hello"));
      expect(reply.status).toBe(200);
      const id = reply.headers.get("x-service-job-id");
      const job = await eventually(
        () => reader.get(`/v1/jobs/${id}`),
        ({ body }) => body.status === "settled",
      );
      expect(job.body).toMatchObject({ id, credits_charged: 8 });
      expect((await reader.get(`/v1/jobs/${id}/output`)).body.content).toBe(reply.body.choices[0].message.content);
      const remaining = Number(reply.headers.get("x-service-credits-remaining"));
      await eventually(
        () => reader.get("/v1/account"),
        ({ body }) => body.credits_remaining === remaining,
      );
    }
    const lists = await Promise.all(demo().map((gateway) => gateway.get("/v1/jobs")));
    expect(lists[0]?.body).toEqual(lists[1]?.body);
    expect(lists[0]?.body.data).toHaveLength(2);
  });

  it("sign for one operator: a dispute of a job that one locked is opened by the other, and asked of both it is one", async () => {
    const [first, second] = demo();
    const settled = async () => {
      const reply = await first.post("/v1/chat/completions", chat(MODEL, "Hello"));
      const id = reply.headers.get("x-service-job-id") as string;
      const job = () => first.get(`/v1/jobs/${id}`);
      await eventually(job, ({ body }) => body.status === "settled");
      return id;
    };
    const received = { received_output_hash: `sha256:${"5e".repeat(32)}` };
    const id = await settled();
    const answer = await second.post(`/v1/jobs/${id}/dispute`, received);
    expect(answer.body).toMatchObject({ job_id: id, dispute_opened: true });
    const client = createPublicClient({ transport: http(stack.info.rpc_url) });
    const { from } = await client.getTransactionReceipt({ hash: answer.body.dispute_tx });
    expect(from).toBe(SECOND.address.toLowerCase());
    expect((await first.get(`/v1/jobs/${id}`)).body.status).toBe("disputed");

    const asked = await settled();
    const answers = await Promise.all([first, second].map((api) => api.post(`/v1/jobs/${asked}/dispute`, received)));
    // Whoever comes when it is open already is told so.
    const told = answers.map(({ status, body }) => (status === 200 ? body.dispute_tx : body.error.details.dispute_tx));
    expect(new Set(told)).toEqual(new Set([expect.stringMatching(/^0x[0-9a-f]{64}$/)]));
    expect(answers.map(({ status }) => status)).toContain(200);
  });

  it("share an Idempotency-Key: one job, one charge, the same answer from both", async () => {
    const send = (baseUrl: string) =>
      fetch(`${baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${stack.info.demo?.api_key}`,
          "content-type": "application/json",
          "idempotency-key": "shared",
        },
        body: JSON.stringify(chat(MODEL, "Hello")),
      });
    const replies = await Promise.all([send(stack.info.base_url), send(other.info.base_url)]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(await replies[0]?.json()).toEqual(await replies[1]?.json());
    expect(new Set(replies.map(({ headers }) => headers.get("x-service-job-id"))).size).toBe(1);
  });

  it("never spend more than there is, however both are asked at once", async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (demo()[i % 2] as ApiClient).post("/v1/chat/completions", chat(MODEL, `Hello ${i}`)),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const { body } = await eventually(
      () => apiClient(other).get("/v1/jobs?limit=100"),
      (reply) => reply.body.data.every((job: { status: string }) => /^(settled|disputed)$/.test(job.status)),
    );
    const asked = replies.map(({ headers }) => headers.get("x-service-job-id"));
    const listed = new Set(body.data.map(({ id }: { id: string }) => id));
    expect(asked.filter((id) => !listed.has(id as string))).toEqual([]);
    const charged = body.data.reduce((sum: number, job: { credits_charged: number }) => sum + job.credits_charged, 0);
    expect((await apiClient(stack).get("/v1/account")).body).toMatchObject({
      wallet: wallet(),
      credits_remaining: 10_000 - charged,
    });
  });
});

describe("a gateway that is told to stop", () => {
  it("says so to the load balancer first, serves whoever still comes, and ends", async () => {
    const key = await keys.regenerate(wallet());
    const ended = new Promise((resolve) => second.once("exit", resolve));
    second.kill("SIGTERM");
    const readiness = () => fetch(`${other.info.base_url}/readyz`);
    const refusal = await eventually(readiness, ({ status }) => status === 503);
    expect(await refusal.json()).toMatchObject({ status: "not ready", checks: { accepting: false, signer: true } });
    const answer = await both(key)[1].post("/v1/chat/completions", chat(MODEL, "Are you still there?"));
    expect(answer.status).toBe(200);
    expect(await ended).toBe(0);
  });
});
