/** A gateway without chain, database and network, for tests of how it runs a job. */
import { pino } from "pino";
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import type { Model, RegisteredWorker } from "../../api/chain/directory.ts";
import type { Operation, Outcome, PlacedEvent, Promised, Submission } from "../../api/chain/operations.ts";
import type { JobStore, StoredJob } from "../../api/db/jobs.ts";
import { type EndingParts, JobEnding } from "../../api/jobs/job-ending.ts";
import type { RecoveryParts } from "../../api/jobs/recovery.ts";
import type { RowUpdater } from "../../api/jobs/row-updater.ts";
import type { ChatDependencies } from "../../api/routes/chat.ts";
import type { Dispatched, Place } from "../../api/workers/worker-pool.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { preconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import { type SigningAccount, signingAccount } from "../../shared/secp256k1.ts";

export const ESCROW: Hex = `0x${"e5".repeat(20)}`;
export const TIMES = {
  completion: 120,
  inclusion: 30,
  finalization: 3_600,
  dispute: 60,
  arbitration: 86_400,
  acknowledge: 10,
  firstToken: 60,
  queue: 30,
  lock: 20,
};
export const MODEL: Model = {
  number: 1,
  id: "m",
  tier: "lite",
  contextWindow: 4_096,
  creditsPerRequest: 8,
  creditsPer1kTokens: 4,
  parameters: "8B",
  ownedBy: "the test",
  createdAt: 0,
  retiresAt: 0,
};

/** How an operation was mined at this time, seconds; a lock holds 8 credits and leaves this account. */
export function minedAt(blockTime: number, kind: Operation["kind"], account = 0n): Outcome & { status: "mined" } {
  const lock: PlacedEvent = { name: "JobLocked", args: { credits: 8, account }, position: 1 };
  return { status: "mined", hash: "0x10", blockNumber: 1, blockTime, events: kind === "lock" ? [lock] : [] };
}

/** How the chain refuses an operation. */
export const reverted = (name: string, ...args: unknown[]): Outcome => ({
  status: "reverted",
  hash: "0x10",
  blockNumber: 1,
  revert: { name, args },
});

/** An operation that ends so; `null`: it is never mined. Without `promised` the sequencer promises nothing before. */
export function submission(
  outcome: Outcome | Promise<Outcome> | null,
  { signed = "0x10", promised }: { signed?: Hex; promised?: Promise<Promised | Outcome> } = {},
): Submission {
  const mined = outcome === null ? new Promise<Outcome>(() => {}) : Promise.resolve(outcome);
  return { signed: Promise.resolve(signed), promised: promised ?? mined, mined };
}

/** A worker as the registry has it. */
export const registered = (more: Partial<RegisteredWorker> = {}): RegisteredWorker => ({
  id: 1,
  signer: `0x${"11".repeat(20)}`,
  stake: 0,
  endpoint: "https://worker.example",
  models: new Set([1]),
  ...more,
});

const nothing = () => {};
/** A job at a worker whose course nobody follows. */
export const DISPATCHED: Dispatched = {
  taken: nothing,
  mined: nothing,
  firstToken: nothing,
  wrote: nothing,
  answered: nothing,
  lost: nothing,
  end: nothing,
};

/** A place at a worker. */
export const placeAt = (worker: RegisteredWorker, dispatched: () => Dispatched = () => DISPATCHED): Place => ({
  worker,
  isOpen: () => true,
  offer: dispatched,
  release: () => {},
});

/** Of a job whose worker has gone before the job was offered to it. */
export const PLACE_GONE = {
  place: { ...placeAt(registered()), isOpen: () => false },
  lockEnded: () => {},
  begun: () => {},
  answered: () => {},
  jobEnded: () => {},
};

/** Parts from which jobs are admitted, run and ended. */
export type JobParts = ChatDependencies["jobs"] &
  EndingParts & { account: SigningAccount } & Omit<
    RecoveryParts,
    "rpc" | "registry" | "sightings" | "index" | "indexIsWhole" | "contextWindow" | "isRunning" | "signer"
  >;

/** The chain's time and its newest block, which is from then. */
export const headAt = (time: () => number, blockTime = time()): JobParts["head"] => {
  const block = { number: 1, hash: "0x01", timestamp: blockTime, baseFee: 0n } as const;
  return {
    get time() {
      return time();
    },
    block,
    isSilent: false,
    refresh: async () => block,
  };
};

/** What a worker does with a job that it is offered. */
export type Dispatching = JobParts["client"]["dispatch"];

/** Parts whose methods a test replaces one by one. */
type Mocked = "abandoned" | "balances" | "client" | "pipeline" | "queue" | "rows" | "standings" | "store" | "workers";

/**
 * What replaces parts of `fakeGateway`. `time`: that of its chain, now by default. `choose`: the worker that has a place for a job which was not taken by
 * those in `excluded`. `dispatched`: what is told of a job that was offered.
 */
export type Replaced = Partial<Omit<JobParts, Mocked | "ending">> & { [Part in Mocked]?: Partial<JobParts[Part]> } & {
  time?: number;
  choose?: (excluded: ReadonlySet<string>) => RegisteredWorker | undefined;
  dispatched?: () => Dispatched;
};

/** Mines everything at once. It hears all and does nothing with it; a test names the parts that matter to it. */
export function fakeGateway({
  time = Math.floor(Date.now() / 1000),
  choose = () => undefined,
  dispatched,
  ...replaced
}: Replaced): JobParts {
  const free = { free: 1_000, escrowed: 0 };
  const memory = rowsInMemory();
  const parts: EndingParts & Omit<JobParts, "ending"> = {
    operator: { id: 1, mayNotLock: null, refresh: async () => {} },
    account: signingAccount(generatePrivateKey()),
    chainId: 1,
    escrow: ESCROW,
    times: TIMES,
    isClosedToWorkers: async () => false,
    promises: preconfirmationLimit("latest", 0, 0),
    head: headAt(() => time),
    tokens: { count: async () => 1 },
    cipher: { encrypt: () => Buffer.alloc(0) },
    outputRetentionHours: 24,
    logger: pino({ level: "silent" }),
    dispute: async () => "opened",
    proven: async () => null,
    workerOf: async () => null,
    ...replaced,
    pipeline: { submit: ({ kind }: Operation) => submission(minedAt(time, kind)), ...replaced.pipeline },
    balances: {
      current: async () => free,
      bounded: async () => free,
      read: async () => free,
      known: () => null,
      terms: () => null,
      authorizationKey: async () => ESCROW,
      expectReturn: () => {},
      doubt: () => {},
      ...replaced.balances,
    },
    standings: {
      rest: () => null,
      settled: () => {},
      failed: () => {},
      lockReverted: () => false,
      ...replaced.standings,
    },
    queue: {
      enter: async () => PLACE_GONE,
      again: async (_wanted: object, excluded: ReadonlySet<string>) => {
        const worker = choose(excluded);
        return worker === undefined ? null : placeAt(worker, dispatched);
      },
      ...replaced.queue,
    },
    workers: {
      alwaysReasons: () => false,
      answeredEmpty: () => {},
      candidates: () => [registered()],
      capable: () => [registered()],
      charged: () => {},
      contradicted: () => {},
      declares: () => false,
      hosts: () => [],
      isDeclared: () => true,
      largestWindow: () => null,
      modelsWith: () => [],
      mostTokens: () => null,
      over: () => {},
      registered: () => [],
      released: () => {},
      report: () => {},
      reportSpeed: () => {},
      reportSuccess: () => {},
      requestBegan: () => {},
      requestEnded: () => {},
      test: async () => ({ model: "sound" }),
      withholds: () => {},
      wasContradicted: () => false,
      ...replaced.workers,
    },
    client: {
      dispatch: () => new Promise(() => {}),
      endJob: async () => {},
      fetchOutput: async () => null,
      ...replaced.client,
    },
    abandoned: { take: async () => null, add: async () => {}, close: async () => true, ...replaced.abandoned },
    store: { ...memory.store, ...replaced.store },
    rows: { ...memory.rows, ...replaced.rows },
  };
  return { ...parts, ending: new JobEnding(parts) };
}

/** The row of a job whose lock is mined, as the gateway's database has it. */
export const storedJob = (more: Partial<StoredJob> = {}): StoredJob => ({
  jobId: newJobId(),
  wallet: ESCROW,
  gateway: ESCROW,
  model: MODEL.id,
  tier: MODEL.tier,
  state: "pending",
  escrowTx: "0x10",
  lockedAt: 0,
  validUntil: 0,
  creditsLocked: 8,
  maxTokens: 100,
  attempt: 0,
  worker: null,
  acknowledgement: null,
  countedTokens: null,
  completion: null,
  finalTokenAt: null,
  sentHash: null,
  sentCharacters: null,
  sentComplete: null,
  creditsCharged: null,
  settlementTx: null,
  settlementBlock: null,
  settledAt: null,
  refundTx: null,
  disputeTx: null,
  failure: null,
  failureReason: null,
  ...more,
});

type Store = Pick<JobStore, "left" | "locked" | "ended" | "disputed"> & JobParts["store"];
type Rows = Pick<RowUpdater, "closed" | "neverLocked" | "written">;

/** What a running job asks of `store` and `rows`; `write` is told every step by its name. */
export function rowsInMemory(write: (step: string, change: object) => Promise<void> = async () => {}) {
  const step = (name: string) => (change: object) => write(name, change);
  const store: Store = {
    newJob: (job) => ({ ...job, gateway: ESCROW, operator: 1, owner: "" }),
    retry: (_until, work) => work(),
    locked: step("locked"),
    taken: step("taken"),
    left: step("left"),
    returned: (jobId) => write("returned", { jobId }),
    answered: step("answered"),
    ended: step("ended"),
    disputed: (jobId, disputeTx) => write("disputed", { jobId, disputeTx }),
    withdrawRefusal: () => write("withdrawRefusal", { failure: null, failureReason: null }),
    refused: ({ reason, why }) => write("refused", { failure: why, failureReason: reason }),
    find: async () => null,
    claimOwn: async () => 0,
    claimFrom: async () => 0,
    othersUnfinished: async () => [],
    unfinished: async () => [],
  };
  const rows: Rows = {
    written: async () => {},
    neverLocked: (jobId, why) => write("neverLocked", { jobId, why }),
    closed: (jobId, state, creditsCharged) => write("closed", { jobId, state, creditsCharged }),
  };
  return { store, rows };
}
