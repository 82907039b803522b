import { type Address, createPublicClient, type Hex, http } from "viem";
import { answerHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { Chain } from "../../scripts/verify/chain.ts";
import { EvidenceReader } from "../../scripts/verify/evidence-reader.ts";
import { verifyRange } from "../../scripts/verify/range.ts";
import type { Load } from "./load.ts";
import type { Patience } from "./patience.ts";
import { reindexed } from "./reindex.ts";
import type { World } from "./world.ts";

/** What a run came to. `problems` is empty when nothing was lost. */
export type Verdict = {
  problems: string[];
  requests: number;
  answered: number;
  refused: number;
  broken: number;
  jobs: number;
  settled: number;
  failed: number;
  refunded: number;
  /** Answered, and nobody paid: a chain that was rolled back lost their lock, or their settlement until its window was over. */
  lostWithTheChain: number;
  webhookDeliveries: number;
};

type Story = { locked: number; settled: number; proofHash: Hex | null; failed: number; refunded: number };
const END_MS = 240_000;
/** What is still under way in a gateway (a late lock, a settlement) has arrived after some blocks of silence. */
const SILENCE_MS = 3_000;
const WEBHOOKS_MS = 120_000;

/** Waits until everything has come to its end, then judges from the chain alone. */
export async function judge(
  world: World,
  load: Load,
  chainWasRolledBack: boolean,
  patience: Patience,
): Promise<Verdict> {
  const problems: string[] = [];
  const stories = await untilEveryJobEnds(world, problems, patience);
  const count = (pick: (story: Story) => boolean) => [...stories.values()].filter(pick).length;
  const verdict: Verdict = {
    problems,
    requests: load.requests.length,
    answered: load.requests.filter(({ outcome }) => outcome === "answered").length,
    refused: load.requests.filter(({ outcome }) => outcome === "refused").length,
    broken: load.requests.filter(({ outcome }) => outcome === "broken").length,
    jobs: stories.size,
    settled: count((story) => story.settled > 0),
    failed: count((story) => story.failed > 0),
    refunded: count((story) => story.refunded > 0),
    lostWithTheChain: 0,
    webhookDeliveries: world.receiver.received.length,
  };
  if (load.hangs > 0) problems.push(`${load.hangs} requests got no answer at all`);
  checkRequests(load, stories, verdict);
  if (verdict.lostWithTheChain > 0 && !chainWasRolledBack) {
    problems.push(`${verdict.lostWithTheChain} answers are not paid for, and no transaction was ever taken back`);
  }
  world.note("auditing the chain");
  await checkLedger(world, problems);
  await checkWebhooks(world, stories, problems, patience);
  if (patience.isOver) problems.push("the run's time is over: the index was not judged");
  else problems.push(...(await reindexed(world, patience)));
  return verdict;
}

async function readStories(world: World): Promise<Map<string, Story>> {
  const client = createPublicClient({ transport: http(world.stack.info.rpc_url) });
  const address = world.stack.info.contracts["InferenceEscrow"] as Address;
  const stories = new Map<string, Story>();
  const events = await client.getContractEvents({ address, abi: inferenceEscrowAbi, fromBlock: 0n });
  for (const { eventName, args } of events) {
    const { jobId, proofHash } = args as { jobId?: Hex; proofHash?: Hex };
    if (jobId === undefined) continue;
    const id = toApiJobId(jobId);
    const story = stories.get(id) ?? { locked: 0, settled: 0, proofHash: null, failed: 0, refunded: 0 };
    stories.set(id, story);
    if (eventName === "JobLocked") story.locked += 1;
    if (eventName === "JobSettled") {
      story.settled += 1;
      story.proofHash = proofHash ?? null;
    }
    if (eventName === "JobFailed") story.failed += 1;
    if (eventName === "JobRefunded") story.refunded += 1;
  }
  return stories;
}

/** Every job must end by the service's own doing: nobody helps. */
async function untilEveryJobEnds(world: World, problems: string[], patience: Patience): Promise<Map<string, Story>> {
  let stories = new Map<string, Story>();
  let open: string[] = [];
  let quietSince = 0;
  const lacking = async (): Promise<string | null> => {
    const seen = await readStories(world);
    open = [...seen].filter(([, story]) => story.settled + story.failed + story.refunded === 0).map(([id]) => id);
    if (seen.size !== stories.size || open.length > 0) quietSince = Date.now();
    stories = seen;
    if (open.length > 0) return `${open.length} of ${seen.size} are open: ${open.slice(0, 3).join(", ")}`;
    return Date.now() - quietSince < SILENCE_MS ? "more may be under way" : null;
  };
  const left = await patience.until("every job to end", lacking, END_MS);
  if (left !== null) problems.push(`jobs never ended: ${left}`, ...(await records(world, open.slice(0, 10))));
  return stories;
}

/** What the gateways have on record of jobs that did not end. */
async function records(world: World, jobIds: string[]): Promise<string[]> {
  const text = `SELECT job_id, state, gateway, attempt, failure, valid_until, locked_at, worker, completion IS NOT NULL AS completed,
                       escrow_tx, settlement_block, updated_at FROM job WHERE job_id = ANY($1)`;
  const { rows } = await world.pool.query(text, [jobIds]);
  return rows.map((row) => `on record: ${JSON.stringify(row)}`);
}

function checkRequests(load: Load, stories: Map<string, Story>, verdict: Verdict): void {
  const { problems } = verdict;
  const jobsOfKeys = new Map<string, string>();
  for (const { outcome, jobId, text, code, idempotencyKey } of load.requests) {
    const story = jobId === null ? undefined : stories.get(jobId);
    if (outcome === "answered") {
      if (jobId === null) problems.push("an answer came without a job id");
      else if (story === undefined || story.failed + story.refunded > 0) verdict.lostWithTheChain += 1;
      else if (story.settled !== 1) problems.push(`${jobId} was answered and is not settled: ${JSON.stringify(story)}`);
      else if (story.proofHash !== answerHash(text)) problems.push(`${jobId}: the proof is of another text`);
    }
    if (outcome === "refused" && story !== undefined && story.settled > 0) {
      problems.push(`${jobId} was refused with ${code} and is charged`);
    }
    if (outcome === "answered" && idempotencyKey !== null && jobId !== null) {
      const first = jobsOfKeys.get(idempotencyKey) ?? jobId;
      if (first !== jobId) problems.push(`one Idempotency-Key paid for ${first} and ${jobId}`);
      jobsOfKeys.set(idempotencyKey, first);
    }
  }
  for (const [id, story] of stories) {
    const ends = story.settled + story.failed + story.refunded;
    if (story.locked !== 1 || ends > 1) problems.push(`${id} has an impossible story: ${JSON.stringify(story)}`);
  }
}

/** Every job's money, every balance and the tokens held, from chain data alone. */
async function checkLedger(world: World, problems: string[]): Promise<void> {
  const { rpc_url: rpcUrl, chain_id: chainId, contracts } = world.stack.info;
  const escrow = contracts["InferenceEscrow"] as Address;
  const chain = await Chain.open({ rpcUrl, escrow, chainId, startBlock: 0n, span: 10_000n });
  const reader = await EvidenceReader.begin(chain);
  const audit = await verifyRange(reader, reader.birth, chain.head);
  if (!audit.holds) problems.push(`the audit of the chain fails: ${JSON.stringify(audit.checks).slice(0, 1_000)}`);
}

/** Each wallet's receiver must have heard of each job and of its end, each under one id. */
async function checkWebhooks(
  world: World,
  stories: Map<string, Story>,
  problems: string[],
  patience: Patience,
): Promise<void> {
  const names = { settled: "job.completed", failed: "job.failed", refunded: "job.timeout" } as const;
  const missing = (): string[] => {
    const told = new Set(world.receiver.received.map(({ event }) => `${event.event} ${event.data.job_id}`));
    return [...stories].flatMap(([id, story]) => {
      const end = (Object.keys(names) as (keyof typeof names)[]).find((name) => story[name] > 0);
      return ["job.submitted", ...(end ? [names[end]] : [])]
        .map((name) => `${name} ${id}`)
        .filter((one) => !told.has(one));
    });
  };
  const lacking = async (): Promise<string | null> => {
    const left = missing();
    return left.length === 0 ? null : `${left.length} are missing: ${left.slice(0, 5).join(", ")}`;
  };
  const left = await patience.until("every webhook event", lacking, WEBHOOKS_MS);
  if (left !== null) problems.push(`webhook events never came: ${left}`);
  const ids = new Map<string, string>();
  for (const { event, path } of world.receiver.received) {
    const key = `${path} ${event.event} ${event.data.job_id}`;
    const first = ids.get(key) ?? event.id;
    if (first !== event.id) problems.push(`${key} came under two ids: ${first} and ${event.id}`);
    ids.set(key, first);
  }
}
