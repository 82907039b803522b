import type { Patience } from "../support/patience.ts";
import { checkLedger, checkRequests, type Story, untilEveryJobEnds } from "../support/stories.ts";
import { type Load, leaverOf } from "./load.ts";
import { reindexed } from "./reindex.ts";
import type { Judged } from "./world.ts";

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
  /**
   * Answered, and nobody paid. A chain that was rolled back lost their lock, or their settlement until its window was over; or their gateway was
   * killed before their settlement was recorded.
   */
  unpaid: number;
  /** Settled, while their clients saw no complete answer; each of them can be fetched. */
  chargedUnseen: number;
  webhookDeliveries: number;
};

/** When an answer (of this gateway) can have lost its lock or its settlement, Unix milliseconds. */
export type Lossy = { from: number; until: number; gateway?: string };

const WEBHOOKS_MS = 120_000;
/** PRIORITY_FEE_WEI, where nothing else is set. */
const LEAST_TIP = 1_000_000_000n;

/** Waits until everything has come to its end, then judges from the chain alone. */
export async function judge(world: Judged, load: Load, lossy: readonly Lossy[], patience: Patience): Promise<Verdict> {
  const problems: string[] = [];
  const { stories, open } = await untilEveryJobEnds(world.stack, problems, patience);
  problems.push(...(await records(world, open.slice(0, 10))));
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
    unpaid: 0,
    chargedUnseen: 0,
    webhookDeliveries: world.receiver.received.length,
  };
  const hung = load.requests.filter((request) => request.hung).length;
  if (hung > 0) problems.push(`${hung} requests got no answer at all`);
  const unpaid = checkRequests(load.requests, stories, problems);
  verdict.unpaid = unpaid.length;
  const unexplained = unpaid.filter(
    ({ at, gateway }) =>
      !lossy.some((time) => at > time.from && at < time.until && gateway === (time.gateway ?? gateway)),
  );
  if (unexplained.length > 0) {
    const jobIds = unexplained.map(({ jobId }) => jobId as string);
    problems.push(`nobody paid for ${jobIds.length} answers, and nothing was taken back or killed then`);
    problems.push(...(await records(world, jobIds.slice(0, 10))));
  }
  const unseen = unseenCharges(load, stories);
  verdict.chargedUnseen = unseen.length;
  problems.push(...(await chargedForNothing(world, load, unseen)));
  problems.push(...(await dearTransactions(world)));
  world.note("auditing the chain");
  await checkLedger(world.stack, problems);
  await checkWebhooks(world, stories, problems, patience);
  // Making the index anew takes minutes after a long run: what was found before is said first.
  world.note(`${problems.length} problems so far${problems.map((problem) => `\n  ${problem}`).join("")}`);
  if (patience.isOver) problems.push("the run's time is over: the index was not judged");
  else problems.push(...(await reindexed(world, patience)));
  return verdict;
}

/** Settled jobs whose clients saw no complete answer. */
function unseenCharges(load: Load, stories: Map<string, Story>): [id: string, story: Story][] {
  const seen = new Set(load.requests.filter(({ outcome }) => outcome === "answered").map(({ jobId }) => jobId));
  return [...stories].filter(([id, story]) => story.settled > 0 && !seen.has(id));
}

/**
 * Of the charges that nobody saw: answers that are not handed out, and jobs that their client cannot ask for, because it never heard of their
 * id. Requests with an `Idempotency-Key` were sent again until they were answered. A client that left without an id pays all the same.
 */
async function chargedForNothing(world: Judged, load: Load, unseen: [id: string, story: Story][]): Promise<string[]> {
  const isThere = async (id: string): Promise<boolean> => {
    for (const { apiKey } of world.clients) {
      const headers = { authorization: `Bearer ${apiKey}` };
      const reply = await fetch(`${world.gateways[0]}/v1/jobs/${id}/output`, { headers });
      await reply.body?.cancel();
      if (reply.status === 200) return true;
    }
    return false;
  };
  const named = new Set(load.requests.map(({ jobId }) => jobId));
  const leaver = leaverOf(world).account.address;
  const unnamed = unseen.filter(([id, { wallet }]) => !named.has(id) && wallet !== leaver).map(([id]) => id);
  const lost: string[] = [];
  for (const [id] of unseen) if (!(await isThere(id))) lost.push(id);
  const waited = unseen.filter(([, { wallet }]) => wallet !== leaver);
  world.note(
    `${unseen.length} answers were charged that their clients had not seen, ${waited.length} of them at clients that had waited; ` +
      `${lost.length} are not handed out, ${unnamed.length} have no id at their client`,
  );
  const problems: string[] = [];
  if (lost.length > 0) problems.push(`charged for answers that nobody can have: ${lost.join(", ")}`);
  if (unnamed.length > 0) problems.push(`charged for jobs that their clients never heard of: ${unnamed.join(", ")}`);
  return [...problems, ...(await records(world, [...lost, ...unnamed].slice(0, 10)))];
}

/** Transactions of the gateways that paid more than twice the market's price: base fee and lowest tip of their block. */
async function dearTransactions(world: Judged): Promise<string[]> {
  const text =
    "SELECT mined_hash AS hash FROM chain_transaction WHERE mined_block_hash IS NOT NULL AND mined_hash <> '0x'";
  const { rows } = await world.pool.query<{ hash: string }>(text);
  const dear: string[] = [];
  for (const { hash } of rows) {
    type Receipt = { effectiveGasPrice: string; blockNumber: string } | null;
    const receipt = await world.rpc<Receipt>("eth_getTransactionReceipt", [hash]);
    if (receipt === null) continue;
    const block = await world.rpc<{ baseFeePerGas: string }>("eth_getBlockByNumber", [receipt.blockNumber, false]);
    const [paid, market] = [BigInt(receipt.effectiveGasPrice), BigInt(block.baseFeePerGas) + LEAST_TIP];
    if (paid > 2n * market) dear.push(`${hash} paid ${paid} wei per gas, the market asked ${market}`);
  }
  return dear.length === 0
    ? []
    : [`${dear.length} of ${rows.length} transactions were too dear: ${dear.slice(0, 3).join("; ")}`];
}

/** What the gateways have on record of jobs that did not end. */
async function records(world: Judged, jobIds: string[]): Promise<string[]> {
  if (jobIds.length === 0) return [];
  const text = `SELECT job_id, state, gateway, attempt, failure, valid_until, locked_at, worker, completion IS NOT NULL AS completed,
                       escrow_tx, settlement_block, updated_at FROM job WHERE job_id = ANY($1)`;
  const { rows } = await world.pool.query(text, [jobIds]);
  return rows.map((row) => `on record: ${JSON.stringify(row)}`);
}

/** Each wallet's receiver must have heard of each job and of its end, each under one id. */
async function checkWebhooks(
  world: Judged,
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
