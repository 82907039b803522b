/** The example receiver, against requests signed as the service signs them. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { signatureHeader } from "../../../webhooks/attempt.ts";

type WebhookEvent = { id: string; event: string };
/** Plain JavaScript, so that every Node from 20 on runs it: the compiler knows nothing of it. */
const EXAMPLE = "../../../examples/webhook-receiver.mjs";
type Example = {
  verifyWebhook: (body: Buffer, header: string | undefined, secret: string, now?: number) => WebhookEvent;
  createReceiver: (secret: string, handle: (event: WebhookEvent) => Promise<void>) => Server;
};
const { createReceiver, verifyWebhook }: Example = await import(EXAMPLE);

const SECRET = "whsec_0123456789abcdef";
const now = Math.floor(Date.now() / 1000);
const event = {
  id: "evt_1",
  event: "credit.topup",
  created_at: "2026-11-01T00:00:00.000Z",
  api_version: "2026-11-01",
  data: { name: "ß ∑" },
};
const body = Buffer.from(JSON.stringify(event));
const signed = (at = now) => signatureHeader(SECRET, at, body.toString());

describe("verifyWebhook", () => {
  it("accepts the exact bytes within the tolerance", () => {
    expect(verifyWebhook(body, signed(), SECRET)).toEqual(event);
    for (const at of [now - 300, now + 300]) expect(verifyWebhook(body, signed(at), SECRET, now)).toEqual(event);
  });

  it.each([
    ["another secret", body, signed(), "whsec_0123456789abcdeX"],
    ["a changed byte", Buffer.from(body.toString().replace("topup", "topuq")), signed(), SECRET],
    ["JSON written anew", Buffer.from(JSON.stringify(event, null, 1)), signed(), SECRET],
    ["another time", body, signed().replace(/\d+/, String(now - 1)), SECRET],
    ["a cut signature", body, signed().slice(0, -2), SECRET],
    ["no header", body, undefined, SECRET],
  ])("refuses %s", (_name, bytes, header, secret) => {
    expect(() => verifyWebhook(bytes, header, secret)).toThrow(/signature/i);
  });

  it("refuses a request that somebody kept", () => {
    for (const at of [now - 301, now + 301]) {
      expect(() => verifyWebhook(body, signed(at), SECRET, now)).toThrow("too old");
    }
  });
});

describe("the receiver", () => {
  let server: Server;
  let handled: WebhookEvent[] = [];
  let fail = false;

  beforeAll(async () => {
    server = createReceiver(SECRET, async (one) => {
      if (fail) throw new Error("the test wants it to fail");
      handled.push(one);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterAll(() => server.close());
  beforeEach(() => {
    handled = [];
  });

  const post = async (header: string, bytes: Buffer = body) => {
    const { port } = server.address() as AddressInfo;
    const headers = { "service-signature": header };
    return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: bytes })).status;
  };

  it("handles an event once, however often it comes, and again if it could not", async () => {
    fail = true;
    expect(await post(signed())).toBe(204);
    fail = false;
    expect([await post(signed()), await post(signed())]).toEqual([204, 204]);
    expect(handled).toEqual([event]);
  });

  it("refuses what is not signed, and what is too large", async () => {
    expect(await post("t=1,v1=00")).toBe(400);
    const large = Buffer.alloc(100_000, "x");
    expect(await post(signatureHeader(SECRET, now, large.toString()), large)).toBe(400);
    expect(handled).toEqual([]);
  });
});
