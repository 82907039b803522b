/** What an attempt says of its receiver and earns for its wallet, whose receivers' next turns come sooner then. */
import { PassThrough } from "node:stream";
import { expect, it, onTestFinished, vi } from "vitest";
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

it.each([
  ["is not the receiver's doing after a wait for turns", 1_001, "delayed"],
  ["is the receiver's doing after a short one", 999, "connection"],
])("a connection that closes %s", async (_what, waitedMs, result) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const client = {
    post: async (_url: string, { onWait }: { onWait: (waits: boolean) => void }) => {
      onWait(true);
      await new Promise((resolve) => setTimeout(resolve, waitedMs));
      throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    },
    earned: () => {},
    destroy: () => {},
  } as unknown as GuardedClient;
  const message = { url: "https://receiver.test/", secret: "s".repeat(16), owner: "0x", body: "{}", timeoutMs: 10_000 };
  const outcome = attempt(message, client);
  await vi.advanceTimersByTimeAsync(waitedMs);
  expect(await outcome).toMatchObject({ result });
});
