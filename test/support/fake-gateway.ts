/** A gateway without chain, database and network, for tests of how it runs a job. */
import { pino } from "pino";
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import type { Operation } from "../../api/chain/operations.ts";
import type { JobStore } from "../../api/db/jobs.ts";
import type { JobContext } from "../../api/jobs/context.ts";
import { FailurePauses } from "../../api/jobs/failure-pauses.ts";
import { JobEnding } from "../../api/jobs/job-ending.ts";
import type { Refusal } from "../../api/jobs/next-step.ts";
import type { RowUpdater } from "../../api/jobs/row-updater.ts";
import type { Place } from "../../api/workers/worker-pool.ts";
import { preconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import { signingAccount } from "../../shared/secp256k1.ts";

export const ESCROW: Hex = `0x${"e5".repeat(20)}`;
export const TIMES = {
  completion: 120,
  inclusion: 30,
  finalization: 3_600,
  acknowledge: 10,
  firstToken: 60,
  queue: 30,
  lock: 20,
};
export const MODEL = {
  number: 1,
  id: "m",
  tier: "lite",
  contextWindow: 4_096,
  creditsPerRequest: 8,
  creditsPer1kTokens: 4,
} as const;

/** How an operation was mined at this time, seconds; a lock holds 8 credits and leaves this account. */
export function minedAt(blockTime: number, kind: Operation["kind"], account = 0n) {
  const lock = { name: "JobLocked", args: { credits: 8, account }, position: 1 };
  return { status: "mined", hash: "0x10", blockNumber: 1, blockTime, events: kind === "lock" ? [lock] : [] };
}

type Worker = { signer: string };
/**
 * Parts that replace or add to those of `fakeGateway`; `time` is that of its chain, now by default. `choose`: the worker that has a place for a job
 * which was not taken by those in `excluded`. `dispatched`: what is told of a job that was offered.
 */
type Parts = {
  time?: number;
  workers?: object;
  choose?: (excluded: ReadonlySet<string>) => Worker | undefined;
  dispatched?: () => object;
  [part: string]: unknown;
};
const DISPATCHED = { taken: () => {}, firstToken: () => {}, end: () => {} };

/** A place at a worker. */
export const placeAt = (worker: Worker, dispatched: () => object = () => DISPATCHED): Place =>
  ({ worker, isOpen: () => true, offer: dispatched, release: () => {} }) as unknown as Place;

/** Of a job whose worker has gone before the job was offered to it. */
export const PLACE_GONE = {
  place: { ...placeAt({ signer: "0x00" }), isOpen: () => false },
  lockEnded: () => {},
  jobEnded: () => {},
};

/** Mines everything at once. It hears all and does nothing with it; a test names the parts that matter to it. */
export function fakeGateway({
  time = Math.floor(Date.now() / 1000),
  workers,
  choose = () => undefined,
  dispatched,
  ...parts
}: Parts): JobContext {
  const submit = ({ kind }: Operation) => {
    const hash = Promise.resolve("0x10");
    return { signed: hash, mined: Promise.resolve(minedAt(time, kind)) };
  };
  const context = {
    account: signingAccount(generatePrivateKey()),
    operator: { id: 1, mayNotLock: null },
    chainId: 1,
    escrow: ESCROW,
    times: TIMES,
    head: { time, block: { timestamp: time }, silentMs: 0, refresh: async () => {} },
    isClosedToWorkers: async () => false,
    pipeline: { congested: false, submit },
    promises: preconfirmationLimit("latest", 0, 0),
    balances: { expectReturn: () => {}, dropReturn: () => {} },
    queue: {
      enter: async () => PLACE_GONE,
      again: async (_wanted: object, excluded: ReadonlySet<string>) => {
        const worker = choose(excluded);
        return worker === undefined ? null : placeAt(worker, dispatched);
      },
    },
    workers: {
      alwaysReasons: () => false,
      candidates: () => [{}],
      report: () => {},
      reportSuccess: () => {},
      reportSpeed: () => {},
      requestBegan: () => {},
      requestEnded: () => {},
      charged: () => {},
      hosts: () => [],
      test: async () => ({ model: "sound" }),
      withholds: () => {},
      released: () => {},
      over: () => {},
      declares: () => false,
      ...workers,
    },
    pauses: new FailurePauses(),
    abandoned: { take: async () => null, add: async () => {}, close: async () => true },
    ...rowsInMemory(),
    cipher: { encrypt: () => Buffer.alloc(0) },
    outputRetentionHours: 24,
    logger: pino({ level: "silent" }),
    dispute: async () => "opened",
    proven: async () => null,
    ...parts,
  } as unknown as JobContext & ConstructorParameters<typeof JobEnding>[0];
  return { ...context, ending: new JobEnding(context) };
}

/** What a running job asks of `store` and `rows`; `write` is told every step by its name. */
export function rowsInMemory(write: (step: string, change: object) => Promise<void> = async () => {}) {
  const step = (name: string) => (change: object) => write(name, change);
  const store = {
    newJob: (job: object) => job,
    retry: (_until: number, work: () => Promise<void>) => work(),
    locked: step("locked"),
    taken: step("taken"),
    answered: step("answered"),
    ended: step("ended"),
    disputed: (jobId: Hex, disputeTx: Hex) => write("disputed", { jobId, disputeTx }),
    withdrawRefusal: () => write("withdrawRefusal", { failure: null, failureReason: null }),
    refused: ({ reason, why }: Refusal) => write("refused", { failure: why, failureReason: reason }),
  } as unknown as JobStore;
  const closed = (jobId: Hex, state: string, creditsCharged: number | null) =>
    write("closed", { jobId, state, creditsCharged });
  const rows = { written: async () => {}, neverLocked: step("neverLocked"), closed } as unknown as RowUpdater;
  return { store, rows };
}
