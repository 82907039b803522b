/** What becomes of an Idempotency-Key when its request ends with an error: free before the lock, with the job from the lock on. */
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import type { Operation, Outcome } from "../../../../api/chain/operations.ts";
import type { StoredJob } from "../../../../api/db/jobs.ts";
import type { ChatDependencies } from "../../../../api/routes/chat.ts";
import { WorkerFailure } from "../../../../api/workers/worker-client.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import { fakeGateway, minedAt, reverted, storedJob, submission } from "../../../support/fake-gateway.ts";
import { ask, runJob, signingWorker, spending } from "../../support/jobs.ts";

const gateway = signingAccount(generatePrivateKey());
const host = signingWorker();
const now = Math.floor(Date.now() / 1000);

/** The chain's answer to an operation; null for none. */
type Chain = (kind: Operation["kind"], jobId: string) => Outcome | null;

/** What a request with a key is told, whose worker breaks off, and whether its key is free then. `earlier`: the row of another body's job. */
async function told(chain: Chain, earlier?: Pick<StoredJob, "state">): Promise<{ error: unknown; released: boolean }> {
  let released = false;
  const jobs = fakeGateway({
    time: now,
    account: gateway,
    pipeline: { submit: ({ kind, jobId }) => submission(chain(kind, jobId)) },
    balances: spending(null),
    choose: (excluded) => (excluded.has(host.signer) ? undefined : host),
    client: {
      dispatch: async () => {
        throw new WorkerFailure("unreachable", "gone", false);
      },
    },
    store: { find: async () => (earlier === undefined ? null : storedJob(earlier)) },
  });
  const idempotency: ChatDependencies["idempotency"] = {
    claim: async () =>
      earlier === undefined || released ? { status: "new" } : { status: "mismatch", jobId: newJobId() },
    isClaimed: async () => true,
    release: async () => {
      released = true;
    },
  };
  const error = await ask(jobs, {}, { "idempotency-key": "one" }, { idempotency }).catch((thrown) => thrown);
  return { error, released };
}

const locks = (kind: Operation["kind"]) => (kind === "lock" ? minedAt(now, kind) : null);

it("is free where nothing was locked", async () => {
  const { error, released } = await told(() => reverted("Account_InsufficientCredits"));
  expect(error).toMatchObject({ code: expect.stringMatching(/credits|unavailable/) });
  expect(released).toBe(true);
});

it("stays with a job that is failed: its row tells a repetition", async () => {
  const { error, released } = await told((kind) => locks(kind) ?? minedAt(now, kind));
  expect(error).toMatchObject({ code: "no_workers_available" });
  expect(released).toBe(false);
});

it("stays with a job that another gateway settled meanwhile", async () => {
  const { error, released } = await told(
    (kind, jobId) => locks(kind) ?? reverted("Job_WrongState", jobId, ChainStatus.Settled),
  );
  expect(error).toMatchObject({ code: "service_unavailable", message: expect.stringContaining("took the job over") });
  expect(released).toBe(false);
});

it("is free for another body once its job came to nothing, and not before", async () => {
  const other = { code: "conflict", message: expect.stringContaining("another body") };
  expect(await told(locks, { state: "pending" })).toEqual({ error: expect.objectContaining(other), released: false });
  const { error, released } = await told((kind) => locks(kind) ?? minedAt(now, kind), { state: "failed" });
  expect([error, released]).toMatchObject([{ code: "no_workers_available" }, true]);
});

it("locks nothing for a request that waited longer than its claim", async () => {
  const sent: string[] = [];
  const submit = ({ kind }: Operation) => {
    sent.push(kind);
    return submission(minedAt(now, kind));
  };
  const context = fakeGateway({ time: now, account: gateway, pipeline: { submit } });
  // A lock can take 20 s.
  const late = runJob(context, { claimedUntil: Date.now() + 19_000 });
  await expect(late.locked).rejects.toMatchObject({ code: "service_unavailable" });
  expect(sent).toEqual([]);
  await runJob(context, { claimedUntil: Date.now() + 60_000 }).locked;
  expect(sent).toEqual(["lock"]);
});
