/** A dispute's transaction in the gateway's own row proves nothing: the chain can have taken it back. */
import { pino } from "pino";
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import { Decider, type DecisionContext } from "../../api/disputes/decide.ts";
import { jobDigests } from "../../protocol/digests.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { signingAccount } from "../../shared/secp256k1.ts";

const ESCROW = `0x${"e5".repeat(20)}` as const;
const jobId = newJobId();
const worker = signingAccount(generatePrivateKey());
const hash = (digit: string) => `0x${digit.repeat(64)}` as const;

/** Decides a request of a settled job whose row names a dispute's transaction, where the chain has that dispute or not. */
async function decide(openedAt: number) {
  const completion = { jobId, proofHash: hash("a"), promptTokens: 1, completionTokens: 2, completedAt: 7 };
  const signature = await worker.sign({ hash: jobDigests(1, ESCROW).completion(completion) });
  const stored = {
    disputeTx: hash("d"),
    finalTokenAt: null,
    completion: { completion, signature, finish_reason: "stop" },
  };
  const chain: Record<string, unknown> = {
    jobOf: { status: ChainStatus.Settled, operator: 1, worker: 7, lockedAt: 1, deadline: 90 },
    payeeOf: 7n << 160n,
    disputeOf: { openedAt },
    accountOf: { openDisputes: 0 },
    DISPUTE_LIMIT: 8,
  };
  const mined = Promise.resolve({ status: "mined", hash: hash("e") });
  const context = {
    jobs: {
      chainId: 1,
      escrow: ESCROW,
      operator: { id: 1 },
      head: { time: 10 },
      times: { dispute: 60 },
      store: { find: async () => stored, disputed: async () => {} },
      pipeline: { submit: () => ({ mined }) },
      logger: pino({ level: "silent" }),
    },
    rpc: { client: { readContract: async ({ functionName }: { functionName: string }) => chain[functionName] } },
    waitMs: 0,
  } as unknown as DecisionContext;
  const request = { jobId, receivedHash: hash("b"), wallet: `0x${"11".repeat(20)}`, arrivedAt: new Date() };
  return new Decider(context).decide(request as never);
}

it("is refused as open while the chain has it", async () => {
  expect(await decide(1_700_000_000)).toEqual({ kind: "refused", reason: "already_open" });
});

it("is opened again when the chain has none", async () => {
  expect(await decide(0)).toEqual({ kind: "opened", tx: hash("e"), workerHash: hash("a") });
});
