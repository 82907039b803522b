import { pino } from "pino";
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import type { JobContext } from "../../api/jobs/context.ts";
import { settleLateAnswer } from "../../api/jobs/late-answer.ts";
import type { StoredJob } from "../../api/store/stored-job.ts";
import type { OutputRequest } from "../../protocol/dispatch.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { signingAccount } from "../../protocol/secp256k1.ts";

it("hosts that are only asked for an answer get no Assignment with which they could take the job on chain", async () => {
  const lockedAt = Math.floor(Date.now() / 1000) - 1;
  const [first, other] = [1, 2].map((id) => {
    const { address } = signingAccount(generatePrivateKey());
    return { id, signer: address, endpoint: `https://${id}.example`, models: new Set([1]) };
  });
  const asked: OutputRequest["assignment"][] = [];
  const context = {
    account: signingAccount(generatePrivateKey()),
    chainId: 1,
    escrow: `0x${"e5".repeat(20)}`,
    times: { completion: 120, inclusion: 30, acknowledge: 10 },
    workers: { registered: () => [first, other] },
    client: {
      fetchOutput: async (_endpoint: string, { assignment }: OutputRequest) => {
        asked.push(assignment);
        return null;
      },
    },
    logger: pino({ level: "silent" }),
  } as unknown as JobContext;
  const offer = { worker: first?.signer, workerEndpoint: first?.endpoint, attempt: 1, acknowledgeBy: lockedAt + 10 };
  const job = { jobId: newJobId(), ...offer } as StoredJob;
  const chain = {
    model: 1,
    worker: null,
    attempt: 0,
    lockedAt,
    credits: 8,
    creditsPerRequest: 8,
    creditsPer1kTokens: 4,
  };
  expect(await settleLateAnswer(context, job, chain)).toBe("none");
  // The first one has this very Assignment already; the contract takes none at or after `acknowledgeBy`.
  expect(asked).toEqual([
    { jobId: job.jobId, worker: first?.signer, attempt: 1, acknowledgeBy: lockedAt + 10 },
    { jobId: job.jobId, worker: other?.signer, attempt: 2, acknowledgeBy: lockedAt },
  ]);
});
