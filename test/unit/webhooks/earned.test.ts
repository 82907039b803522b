/** What a delivery earns for its wallet: the next turns of its receivers come sooner. */
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import type { GuardedClient } from "../../../api/outbound/endpoint.ts";
import { attempt } from "../../../webhooks/attempt.ts";

/** How often an attempt earned whose receiver answers so, after this part of its time. */
async function earnedBy(statusCode: number, part: number): Promise<number> {
  let earned = 0;
  const timeoutMs = part === 0 ? 60_000 : 100;
  const client = {
    post: async () => {
      await new Promise((resolve) => setTimeout(resolve, part * timeoutMs));
      return Object.assign(new PassThrough().end("ok"), { statusCode, rawHeaders: [] });
    },
    earned: () => {
      earned += 1;
    },
    destroy: () => {},
  } as unknown as GuardedClient;
  await attempt({ url: "https://receiver.test/", secret: "s".repeat(16), owner: "0x", body: "{}", timeoutMs }, client);
  return earned;
}

it.each([
  ["a prompt answer earns", 200, 0, 1],
  ["a late one does not: its webhook is slow, and the wallet could have a costly one beside it", 200, 0.5, 0],
  ["a failure does not", 500, 0, 0],
])("%s", async (_what, status, part, earned) => {
  expect(await earnedBy(status, part)).toBe(earned);
});
