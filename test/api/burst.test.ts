/** The per-IP burst limit, also behind a proxy. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Contract } from "../support/contract.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    parts: ["chain", "database", "contracts", "workers", "api", "demo"],
    workers: [],
    env: { api: { BURST_PER_SECOND: "5", TRUST_PROXY: "1" } },
  });
});
afterAll(() => stack?.remove());

const ask = (address: string) =>
  fetch(`${stack.info.base_url}/v1/account`, {
    headers: { authorization: `Bearer ${stack.info.demo?.api_key}`, "x-forwarded-for": address },
  });

describe("a burst from one address", () => {
  it("gets 429 with when to come back; another address is not affected", async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => ask("203.0.113.7")));
    const refused = replies.filter((reply) => reply.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(7);
    const [reply] = refused as [Response];
    expect(reply.headers.get("retry-after")).toBe("1");
    expect(reply.headers.get("ratelimit")).toMatch(/r=0/);
    const document = await Contract.of(stack.info.base_url);
    expect(await document.check("get", "/v1/account", reply)).toEqual({
      error: {
        code: "rate_limited",
        message: expect.any(String),
        type: "rate_limit_error",
        param: null,
        docs: `${stack.info.base_url}/docs/errors#rate_limited`,
        details: { retry_after: 1 },
      },
    });
    expect((await ask("203.0.113.8")).status).toBe(200);
  });

  it("is told how much is left, before it is too late", async () => {
    const reply = await ask("203.0.113.9");
    expect(reply.headers.get("ratelimit-policy")).toMatch(/q=5; w=1/);
    expect(reply.headers.get("ratelimit")).toMatch(/r=4; t=1/);
  });

  it("cannot hide behind addresses of its own making: only the proxy's entry counts", async () => {
    // The proxy appends what it saw; whatever stands before that came from the client.
    const replies = await Promise.all(Array.from({ length: 12 }, (_, i) => ask(`198.51.100.${i}, 203.0.113.10`)));
    expect(replies.filter((reply) => reply.status === 429).length).toBeGreaterThan(0);
  });

  it("is over after a second", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await ask("203.0.113.7")).status).toBe(200);
  });

  it("does not concern the operator's routes", async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => fetch(`${stack.info.base_url}/healthz`)));
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([200]));
  });
});
