/** What people and monitors learn of the service's state. */
import { expect, it } from "vitest";
import type { Status } from "../../../../web/contract.ts";
import { serveWebApi } from "../../support/web-api.ts";

const HEAD = 100;
type State = {
  /** Whether the chain's node has answered nothing for too long. */
  isSilent?: boolean;
  accepting?: boolean;
  /** The newest block in the index; null while the index is being built. */
  indexed?: number | null;
  database?: "answers" | "fails";
  /** Workers of each model. */
  hosts?: readonly number[];
};

/** The status route of a service in this state, and how often it has read the index. */
async function serveStatus({
  isSilent = false,
  accepting = true,
  indexed = HEAD,
  database = "answers",
  hosts = [1, 2],
}: State) {
  const reads = { head: 0 };
  const rows = (statement: string) => {
    if (database === "fails") throw new Error("the connection is lost");
    if (statement !== "index_head") return [];
    reads.head += 1;
    return indexed === null ? [] : [{ blockNumber: indexed, blockTime: 1, ready: true }];
  };
  const url = await serveWebApi(rows, {
    head: { block: { number: HEAD }, silentMs: 0, isSilent },
    signerLock: { held: true },
    pipeline: { congested: false, unminedMs: 0 },
    phase: { recovered: true, accepting },
    directory: { models: () => hosts.map((_, number) => ({ number, id: `model-${number}` })) },
    workers: { hosts: (number: number) => Array(hosts[number]).fill({}), states: () => [], isDemo: () => false },
  });
  return { url: `${url}/status`, reads };
}

it.each<[Status["status"], string, State]>([
  ["ok", "all of it works", {}],
  ["ok", "the index is 20 blocks behind", { indexed: HEAD - 20 }],
  ["degraded", "the index is 21 blocks behind", { indexed: HEAD - 21 }],
  ["degraded", "the index is being built", { indexed: null }],
  ["degraded", "a model has no worker", { hosts: [0, 1] }],
  ["down", "no model has a worker", { hosts: [0, 0] }],
  ["down", "the chain's node has been silent for too long", { isSilent: true }],
  ["down", "the gateway is stopping", { accepting: false }],
  ["down", "the database does not answer", { database: "fails" }],
])("is %s where %s; only a service that is down answers 503", async (status, _, state) => {
  const { url } = await serveStatus(state);
  const reply = await fetch(url);
  expect([reply.status, ((await reply.json()) as Status).status]).toEqual([status === "down" ? 503 : 200, status]);
});

it("looks once for all who ask within a second", async () => {
  const { url, reads } = await serveStatus({});
  await Promise.all(Array.from({ length: 10 }, () => fetch(url)));
  expect(reads.head).toBe(1);
});
