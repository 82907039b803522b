/** Two gateways on one database and one chain: what one of them is told holds for the other at once. */
import { createPublicClient, http } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { runOperator } from "../../operator/main.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { type ApiClient, apiClient, chat, eventually, JSON_TYPE, type KnownStack } from "../support/api-client.ts";
import { errorBody } from "../support/contract.ts";
import { SECOND_ADDRESS, SecondGateway } from "../support/second-gateway.ts";
import { MODEL } from "../support/service-stack.ts";
import { openService, settled } from "./support/service.ts";

const { stack, pool, client } = await openService();
const keys = new Keys(pool);
await rpc(stack.info.rpc_url, "anvil_setBalance", [SECOND_ADDRESS, "0x8ac7230489e80000"]);
const second = new SecondGateway(stack, { STOP_DELAY_SECONDS: "15" });
/** The same stack as seen through the second gateway. */
let other: KnownStack;

beforeAll(async () => {
  await second.start();
  other = { info: { ...stack.info, base_url: second.url } };
});
afterAll(() => second.kill());

/** The client through each of them. */
const demo = (): [ApiClient, ApiClient] => both(client.apiKey);
const both = (key: string): [ApiClient, ApiClient] => [apiClient(stack, key), apiClient(other, key)];

describe("a key", () => {
  const owner = privateKeyToAddress(generatePrivateKey());

  const operator = (...argv: string[]) => runOperator(argv, { DATA_DIR: stack.dataDir });
  /** What both gateways say to the very next request. */
  const told = async (key: string) => {
    const replies = await Promise.all(both(key).map((gateway) => gateway.get("/v1/account")));
    return replies.map(({ status, body }) => [status, body.error?.code ?? null]);
  };
  const twice = (...reply: [number, string | null]) => [reply, reply];

  it("revoked through one gateway is refused by both with the very next request", async () => {
    const { api_key: key } = JSON.parse(await operator("keys", "create", owner, "--json"));
    expect(key).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
    await expect(operator("keys", "create", owner)).rejects.toThrow(/has a key; revoke it first/);
    expect(await told(key)).toEqual(twice(200, null));
    await operator("keys", "revoke", owner);
    expect(await told(key)).toEqual(twice(401, "invalid_api_key"));
    await expect(operator("keys", "revoke", owner)).rejects.toThrow(/has no key/);
    expect(await operator("keys", "list", "--all")).toContain("revoked");
  });

  it("suspended is refused by both with key_suspended, and taken again once released", async () => {
    const key = await keys.regenerate(owner);
    await operator("keys", "suspend", owner);
    expect(await told(key)).toEqual(twice(403, "key_suspended"));
    const { body } = await apiClient(stack, key).get("/v1/account");
    expect(body).toMatchObject(errorBody(stack, "key_suspended", "permission_error", { docs: expect.any(String) }));
    const listed = JSON.parse(await operator("keys", "list", "--json"));
    expect(listed).toContainEqual(expect.objectContaining({ wallet: owner.toLowerCase(), status: "suspended" }));
    await operator("keys", "unsuspend", owner);
    expect(await told(key)).toEqual(twice(200, null));
  });
});

describe("two gateways", () => {
  it("serve one account: each shows the jobs, answers and balance of the other", async () => {
    const [first, second] = demo();
    for (const [asked, reader] of [
      [first, second],
      [second, first],
    ] as const) {
      const reply = await asked.post("/v1/chat/completions", chat(MODEL, "Hello"));
      expect(reply.status).toBe(200);
      const id = reply.headers.get("x-service-job-id");
      expect(await settled(reader, id)).toMatchObject({ id, credits_charged: 8 });
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

  it("sign for one operator: either opens the other's dispute, and both only one", async () => {
    const [first, second] = demo();
    const settledId = async () => {
      const reply = await first.post("/v1/chat/completions", chat(MODEL, "Hello"));
      return (await settled(first, reply.headers.get("x-service-job-id"))).id;
    };
    const received = { received_output_hash: `sha256:${"5e".repeat(32)}` };
    const id = await settledId();
    const answer = await second.post(`/v1/jobs/${id}/dispute`, received);
    expect(answer.body).toMatchObject({ job_id: id, dispute_opened: true });
    const client = createPublicClient({ transport: http(stack.info.rpc_url) });
    const { from } = await client.getTransactionReceipt({ hash: answer.body.dispute_tx });
    expect(from).toBe(SECOND_ADDRESS.toLowerCase());
    expect((await first.get(`/v1/jobs/${id}`)).body.status).toBe("disputed");

    const asked = await settledId();
    const answers = await Promise.all([first, second].map((api) => api.post(`/v1/jobs/${asked}/dispute`, received)));
    // Whoever comes when it is open already is told so.
    const told = answers.map(({ status, body }) => (status === 200 ? body.dispute_tx : body.error.details.dispute_tx));
    expect(new Set(told)).toEqual(new Set([expect.stringMatching(/^0x[0-9a-f]{64}$/)]));
    expect(answers.map(({ status }) => status)).toContain(200);
  });

  it("share an Idempotency-Key: one job, one charge, the same answer from both", async () => {
    const headers = { ...JSON_TYPE, "idempotency-key": "shared" };
    const body = JSON.stringify(chat(MODEL, "Hello"));
    const replies = await Promise.all(demo().map((api) => api.send("POST", "/v1/chat/completions", headers, body)));
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
      () => apiClient(other, client.apiKey).get("/v1/jobs?limit=100"),
      (reply) => reply.body.data.every((job: { status: string }) => /^(settled|disputed)$/.test(job.status)),
    );
    const asked = replies.map(({ headers }) => headers.get("x-service-job-id"));
    const listed = new Set(body.data.map(({ id }: { id: string }) => id));
    expect(asked.filter((id) => !listed.has(id as string))).toEqual([]);
    const charged = body.data.reduce((sum: number, job: { credits_charged: number }) => sum + job.credits_charged, 0);
    expect((await client.api.get("/v1/account")).body).toMatchObject({
      wallet: client.account.address,
      credits_remaining: 1_000 - charged,
    });
  });
});

it("a stopping gateway tells its load balancer, serves who still comes, and ends", async () => {
  const stopped = second.kill("SIGTERM");
  // A proxy that kept the connection would send the next request into it.
  const refusal = await eventually(
    () => fetch(`${second.url}/readyz`),
    ({ status, headers }) => status === 503 && headers.get("connection") === "close",
  );
  expect(await refusal.json()).toMatchObject({ status: "not ready", checks: { accepting: false, signer: true } });
  const answer = await demo()[1].post("/v1/chat/completions", chat(MODEL, "Are you still there?"));
  expect(answer.status).toBe(200);
  await stopped;
  expect(second.lastWords).toMatch(/^exit 0/);
});
