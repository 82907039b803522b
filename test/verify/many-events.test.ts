/** The verifier on a chain where somebody makes the registry emit more than a node's reply may hold. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type GuardedNode, startGuardedNode } from "../support/guarded-node.ts";
import { verifyJson } from "./support/cli.ts";
import { MODEL, type Protocol, people, registerStranger, startProtocol, workerKey } from "./support/protocol.ts";

/** Most characters of a reply with logs; viem itself bounds replies at 10 MB. */
const MOST = 60_000;
/** A `HostingSet` with so many models is longer. */
const MODELS = Array<number>(1_000).fill(MODEL);

let p: Protocol;
let node: GuardedNode;
let at: string[];
/** Logs that were read since the last audit began, and the questions for them. */
let logs = 0;
let questions = 0;
let receipts = 0;
beforeAll(async () => {
  p = await startProtocol();
  node = await startGuardedNode(async (body) => {
    const response = await fetch(p.chain.rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const reply = await response.text();
    if (body.includes("eth_getTransactionReceipt")) receipts += 1;
    if (!body.includes("eth_getLogs")) return reply;
    questions += 1;
    if (reply.length > MOST) throw new Error("too long");
    logs += reply.split('"logIndex"').length - 1;
    return reply;
  });
  at = ["--rpc", node.url, "--escrow", p.escrow.address];
});
afterAll(async () => {
  await node?.stop();
  await p?.stop();
});

const audit = async (jobId: `0x${string}`) => {
  [logs, questions, receipts] = [0, 0, 0];
  const { code, report } = await verifyJson([toApiJobId(jobId), ...at]);
  return { code, checks: report.jobs[0].checks, logs, questions, receipts };
};

it("reads nothing of workers that a job does not name", async () => {
  const { jobId } = await p.settle();
  const before = await audit(jobId);
  expect(before.code).toBe(0);
  expect(before.logs).toBeGreaterThan(0);

  const signer = privateKeyToAccount(generatePrivateKey());
  await registerStranger(p, signer, "https://x.example");
  await p.send(people.stranger, p.registry, "setHosting", [signer.address, MODELS, true]);
  expect(await audit(jobId)).toEqual(before);
});

it("reads a block that has too many events of the job's own worker by its receipts", async () => {
  const { jobId } = await p.settle();
  const before = await audit(jobId);
  await p.send(people.svcHolder, p.registry, "setHosting", [workerKey.address, MODELS, true]);
  const after = await audit(jobId);
  expect(after.checks).toEqual(before.checks);
  expect(after.receipts).toBe(before.receipts + 1);
  // Behind that block the steps are large again.
  await p.rpc.mine({ blocks: 300 });
  const later = await audit(jobId);
  expect(later.checks).toEqual(before.checks);
  expect(later.questions).toBeLessThan(after.questions + 50);
});
