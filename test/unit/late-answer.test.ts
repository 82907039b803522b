import { pino } from "pino";
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import type { StoredJob } from "../../api/db/jobs.ts";
import type { JobContext } from "../../api/jobs/context.ts";
import { askWorker } from "../../api/jobs/recovery.ts";
import type { OutputRequest } from "../../protocol/dispatch.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { signingAccount } from "../../shared/secp256k1.ts";

it("hosts that are only asked for an answer get no Assignment with which they could take the job on chain", async () => {
  const lockedAt = Math.floor(Date.now() / 1000) - 1;
  const { address: signer } = signingAccount(generatePrivateKey());
  const host = { id: 1, signer, stake: 0, endpoint: "https://worker.example", models: new Set([1]) };
  const asked: OutputRequest["assignment"][] = [];
  const context = {
    account: signingAccount(generatePrivateKey()),
    chainId: 1,
    escrow: `0x${"e5".repeat(20)}`,
    times: { completion: 120, inclusion: 30, acknowledge: 10 },
    client: {
      fetchOutput: async (_endpoint: string, { assignment }: OutputRequest) => {
        asked.push(assignment);
        return null;
      },
    },
    logger: pino({ level: "silent" }),
  } as unknown as JobContext;
  const job = { jobId: newJobId() } as StoredJob;
  const chain = {
    wallet: job.wallet,
    operator: 1,
    settleBefore: lockedAt + 150,
    model: 1,
    worker: null,
    attempt: 0,
    lockedAt,
    credits: 8,
    creditsPerRequest: 8,
    creditsPer1kTokens: 4,
    provenAt: null,
    contextWindow: 4_096,
  };
  expect(await askWorker(context, job, chain, host)).toBe("none");
  // The contract takes none at or after `acknowledgeBy`.
  expect(asked).toEqual([{ jobId: job.jobId, worker: signer, attempt: 1, acknowledgeBy: lockedAt }]);
});
