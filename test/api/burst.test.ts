/** The per-IP burst limit, also behind a proxy: of a gateway with a low one, beside the shared stack. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorOf, eventually } from "../support/api-client.ts";
import { Contract } from "../support/contract.ts";
import { SecondGateway, THIRD_KEY } from "../support/second-gateway.ts";
import { sharedStack } from "../support/shared-fixtures.ts";

const stack = await sharedStack("service");
const settings = { GATEWAY_PRIVATE_KEY: THIRD_KEY, BURST_PER_SECOND: "5", TRUST_PROXY: "1" };
const gateway = new SecondGateway(stack, settings);
beforeAll(() => gateway.start());
afterAll(() => gateway.kill());

const ask = (address: string, path = "/v1/account") =>
  fetch(`${gateway.url}${path}`, {
    headers: { authorization: `Bearer ${stack.info.demo?.api_key}`, "x-forwarded-for": address },
  });

/** Twelve requests at once; again, a second later, where they were so slow to arrive that none was refused. */
async function burst(addressOf: (i: number) => string, path?: string): Promise<Response[]> {
  const round = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    return Promise.all(Array.from({ length: 12 }, (_, i) => ask(addressOf(i), path)));
  };
  return eventually(round, (replies) => replies.some(({ status }) => status === 429));
}

describe("a burst from one address", () => {
  it("gets 429 with when to come back; another address is not affected", async () => {
    const replies = await burst(() => "203.0.113.7");
    const refused = replies.filter((reply) => reply.status === 429);
    expect(replies.length - refused.length).toBeGreaterThanOrEqual(5);
    const [reply] = refused as [Response];
    expect(reply.headers.get("retry-after")).toBe("1");
    expect(reply.headers.get("ratelimit")).toMatch(/r=0/);
    const document = await Contract.of(gateway.url);
    expect(await document.check("get", "/v1/account", reply)).toEqual({
      error: {
        code: "rate_limited",
        message: expect.any(String),
        type: "rate_limit_error",
        param: null,
        docs: `${gateway.url}/docs/errors#rate_limited`,
        details: { retry_after: 1 },
      },
    });
    expect((await ask("203.0.113.8")).status).toBe(200);
  });

  it.each(["/nothing/here", "/", "/app", "/app/assets/none.js", "/docs", "/readyz"])(
    "is limited at %s too",
    async (path) => {
      const replies = await burst(() => "203.0.113.11", path);
      const refused = replies.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(0);
      expect((await errorOf(refused[0] as Response)).code).toBe("rate_limited");
    },
  );

  it("is told how much is left, before it is too late", async () => {
    const reply = await ask("203.0.113.9");
    expect(reply.headers.get("ratelimit-policy")).toMatch(/q=5; w=1/);
    expect(reply.headers.get("ratelimit")).toMatch(/r=4; t=1/);
  });

  it("cannot hide behind addresses of its own making: only the proxy's entry counts", async () => {
    // The proxy appends what it saw; whatever stands before that came from the client.
    const replies = await burst((i) => `198.51.100.${i}, 203.0.113.10`);
    expect(replies.some((reply) => reply.status === 429)).toBe(true);
  });

  it("is over after a second", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await ask("203.0.113.7")).status).toBe(200);
  });

  it("does not concern the operator's routes", async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => fetch(`${gateway.url}/healthz`)));
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([200]));
  });
});
