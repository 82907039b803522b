/** Workers that are asked for an answer later. One that ended with `length` is judged as strictly as if it had been streamed. */
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import { type AnswerableJob, askWorker } from "../../../../api/jobs/worker-answers.ts";
import type { OutputRequest } from "../../../../protocol/dispatch.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import { fakeGateway, headAt, storedJob, TIMES } from "../../../support/fake-gateway.ts";
import { signingWorker } from "../../support/jobs.ts";

const TEXT = "A few words of a long answer";
const TOKENS = 8;
const gateway = signingAccount(generatePrivateKey());
const host = signingWorker();
const lockedAt = Math.floor(Date.now() / 1000) - 600;

/** The job as the chain has it: nobody's, and not proven. */
const open: AnswerableJob = {
  status: ChainStatus.Acknowledged,
  isOurs: true,
  isAbsent: false,
  model: 1,
  worker: null,
  attempt: 0,
  lockedAt,
  proof: null,
  finalizeFrom: null,
  contextWindow: 4_096,
  credits: 8,
  creditsPerRequest: 8,
  creditsPer1kTokens: 4,
};

it("a host that is only asked for an answer gets no Assignment", async () => {
  const asked: OutputRequest["assignment"][] = [];
  const fetchOutput = async (_endpoint: string, { assignment }: OutputRequest) => {
    asked.push(assignment);
    return null;
  };
  const job = storedJob();
  expect(await askWorker(fakeGateway({ account: gateway, client: { fetchOutput } }), job, open, host)).toBe("none");
  // The contract takes none at or after `acknowledgeBy`.
  expect(asked).toEqual([{ jobId: job.jobId, worker: host.signer, attempt: 1, acknowledgeBy: lockedAt }]);
});

/** What becomes of a cut answer: proven so many seconds after the lock, of a request for so many tokens. */
async function fetched({ provenAfter, maxTokens }: { provenAfter: number; maxTokens: number | null }) {
  const jobId = newJobId();
  const reports: string[] = [];
  const completedAt = lockedAt + Math.min(provenAfter, 119);
  const output = {
    text: TEXT,
    ...(await host.complete(jobId, TEXT, { completedAt, completionTokens: TOKENS })),
    finish_reason: "length",
    acknowledgement: { attempt: 1, signature: `0x${"11".repeat(64)}1b` },
  } as const;
  const context = fakeGateway({
    account: gateway,
    head: headAt(() => lockedAt + 600),
    client: { fetchOutput: async () => output },
    workers: {
      declares: () => false,
      report: (_worker: string, { code }: { code: string }) => void reports.push(code),
    },
  });
  const job = storedJob({ jobId, wallet: gateway.address, attempt: 1, maxTokens });
  const finalizeFrom = lockedAt + provenAfter + TIMES.finalization;
  const chain = { ...open, finalizeFrom, worker: host.signer, attempt: 1 };
  const asked = await askWorker(context, job, chain, host);
  return { asked: typeof asked === "object" ? asked.text : asked, reports };
}

it("refuses an answer cut below max_tokens if it was proven too early", async () => {
  expect(await fetched({ provenAfter: 104, maxTokens: 100 })).toEqual({ asked: "none", reports: ["cut_short"] });
});

it.each([
  ["in the last 15 seconds", { provenAfter: 105, maxTokens: 100 }],
  ["with the tokens that were asked for", { provenAfter: 20, maxTokens: TOKENS }],
  ["of a request whose limit an earlier version did not note", { provenAfter: 20, maxTokens: null }],
])("a cut answer is taken %s", async (_, given) => {
  expect(await fetched(given)).toEqual({ asked: TEXT, reports: [] });
});
