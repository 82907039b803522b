/** The jobs of a stack as the chain tells them, and what clients saw held against it. */
import { type Address, createPublicClient, type Hex, http } from "viem";
import { answerHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { isNoJob, toApiJobId } from "../../protocol/job-id.ts";
import { Chain } from "../../verify/chain.ts";
import { verifyRange } from "../../verify/range.ts";
import { EvidenceReader } from "../../verify/reader.ts";
import type { KnownStack } from "./api-client.ts";
import type { Patience } from "./patience.ts";
import type { RecordedRequest } from "./recorded-request.ts";

/** Whose job it is, how often each of these happened to it, who was paid, and for which answer. */
export type Story = {
  wallet: Address | null;
  locked: number;
  settled: number;
  proofHash: Hex | null;
  worker: Address | null;
  failed: number;
  refunded: number;
};

const NOTHING: Story = {
  wallet: null,
  locked: 0,
  settled: 0,
  proofHash: null,
  worker: null,
  failed: 0,
  refunded: 0,
};

const END_MS = 240_000;
/** Blocks whose events are asked for at once. */
const SPAN = 100n;
/** What is still under way in a gateway (a late lock, a settlement) has arrived after some blocks of silence. */
const SILENCE_MS = 3_000;

/** Every job of the escrow, by its id in the API. */
export async function readStories({ info }: KnownStack): Promise<Map<string, Story>> {
  const client = createPublicClient({ transport: http(info.rpc_url) });
  const address = info.contracts["InferenceEscrow"] as Address;
  const stories = new Map<string, Story>();
  const head = await client.getBlockNumber();
  for (let fromBlock = 0n; fromBlock <= head; fromBlock += SPAN) {
    const toBlock = fromBlock + SPAN - 1n;
    tell(stories, await client.getContractEvents({ address, abi: inferenceEscrowAbi, fromBlock, toBlock }));
  }
  return stories;
}

type Told = { eventName: string; args: unknown };

function tell(stories: Map<string, Story>, events: readonly Told[]): void {
  for (const { eventName, args } of events) {
    const { jobId, ...told } = args as { jobId?: Hex; proofHash?: Hex; worker?: Address; wallet?: Address };
    // Changes of a reserve, and the treasury's share of a batch, can be of no job.
    if (jobId === undefined || isNoJob(jobId)) continue;
    const id = toApiJobId(jobId);
    const story = stories.get(id) ?? { ...NOTHING };
    stories.set(id, story);
    if (eventName === "JobLocked") {
      story.locked += 1;
      story.wallet = told.wallet ?? null;
    }
    if (eventName === "JobSettled") {
      story.settled += 1;
      story.proofHash = told.proofHash ?? null;
      story.worker = told.worker ?? null;
    }
    if (eventName === "JobFailed") story.failed += 1;
    if (eventName === "JobRefunded") story.refunded += 1;
  }
}

/** Every job must end by the service's own doing: nobody helps. `open`: ids of those that did not. */
export async function untilEveryJobEnds(
  stack: KnownStack,
  problems: string[],
  patience: Patience,
): Promise<{ stories: Map<string, Story>; open: string[] }> {
  let stories = new Map<string, Story>();
  let open: string[] = [];
  let quietSince = Date.now();
  const lacking = async (): Promise<string | null> => {
    const seen = await readStories(stack);
    open = [...seen].filter(([, story]) => story.settled + story.failed + story.refunded === 0).map(([id]) => id);
    if (seen.size !== stories.size || open.length > 0) quietSince = Date.now();
    stories = seen;
    if (open.length > 0) return `${open.length} of ${seen.size} are open: ${open.slice(0, 5).join(", ")}`;
    return Date.now() - quietSince < SILENCE_MS ? "more may be under way" : null;
  };
  const left = await patience.until("every job to end", lacking, END_MS);
  if (left !== null) problems.push(`jobs never ended: ${left}`);
  return { stories, open };
}

/**
 * What each client saw against what the chain says. Returns the answers that nobody paid for: never any, unless a transaction was taken back.
 */
export function checkRequests(
  requests: readonly RecordedRequest[],
  stories: ReadonlyMap<string, Story>,
  problems: string[],
): RecordedRequest[] {
  const unpaid: RecordedRequest[] = [];
  const jobsOfKeys = new Map<string, string>();
  for (const request of requests) {
    const { outcome, jobId, text, code, idempotencyKey } = request;
    const story = jobId === null ? undefined : stories.get(jobId);
    if (outcome === "answered") {
      if (jobId === null) problems.push("an answer came without a job id");
      else if (story === undefined || story.failed + story.refunded > 0) unpaid.push(request);
      else if (story.settled !== 1) problems.push(`${jobId} was answered and is not settled: ${JSON.stringify(story)}`);
      else if (story.proofHash !== answerHash(text)) problems.push(`${jobId}: the proof is of another text`);
    }
    // What a worker withheld is charged once it hands the answer out.
    if (outcome === "refused" && code !== "answer_withheld" && story !== undefined && story.settled > 0) {
      problems.push(`${jobId} was refused with ${code} and is charged`);
    }
    const isPaid = outcome === "answered" || (story?.settled ?? 0) > 0;
    if (isPaid && idempotencyKey !== null && jobId !== null) {
      const first = jobsOfKeys.get(idempotencyKey) ?? jobId;
      if (first !== jobId) problems.push(`one Idempotency-Key paid for ${first} and ${jobId}`);
      jobsOfKeys.set(idempotencyKey, first);
    }
  }
  for (const [id, story] of stories) {
    const ends = story.settled + story.failed + story.refunded;
    if (story.locked !== 1 || ends > 1) problems.push(`${id} has an impossible story: ${JSON.stringify(story)}`);
  }
  return unpaid;
}

/** Every job's money, every balance and the tokens held, from chain data alone. */
export async function checkLedger(stack: KnownStack, problems: string[]): Promise<void> {
  const { rpc_url: rpcUrl, chain_id: chainId, contracts } = stack.info;
  const escrow = contracts["InferenceEscrow"] as Address;
  const chain = await Chain.open({ rpcUrl, escrow, chainId, startBlock: 0n, span: 10_000n });
  const reader = await EvidenceReader.begin(chain);
  const audit = await verifyRange(reader, { from: reader.birth, to: chain.head });
  if (!audit.holds) problems.push(`the audit of the chain fails: ${JSON.stringify(audit.checks).slice(0, 1_000)}`);
  const { surplus_units: surplus } = audit.ledger;
  if (surplus !== "0") problems.push(`the escrow holds ${surplus} token units more than it owes`);
}
