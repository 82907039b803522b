/**
 * Section `queue`: more clients than places, on blocks of a second, which wake all of their jobs at once. With one gateway and with two that share
 * the workers. What counts: errors by their code, locks that failed on chain, and what a greedy wallet costs the others.
 */
import { type Address, createPublicClient, type Hex, http } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { load, type Sample, type Target } from "./load.ts";
import { p50, p99, progress, type Section } from "./report.ts";
import { type Account, type System, type SystemOptions, startSystem, startUpstream, withGateway } from "./system.ts";
import { indexCaughtUp } from "./throughput.ts";

const BLOCK_SECONDS = 1;
/** An answer of the worker with few places takes so long. */
const ANSWER_MS = 20;
const FEW_PLACES = { count: 1, concurrency: 8, queue: 64 };
/** Clients that no queue keeps waiting, and more than there are places. */
const USUAL = 192;
const MANY = 2_000;
const CROWD = 512;
/** Wallets with one request at a time, and the requests of one beside them. */
const MODEST = 10;
const GREEDY = 500;

type QueueOptions = { upstream: string; seconds: number };
type Row = Section["rows"][number];

export async function* queue({ upstream, seconds }: QueueOptions): AsyncGenerator<Section> {
  const slow = await startUpstream(ANSWER_MS);
  try {
    const many: Row[] = [];
    await withGateways({ upstream, accounts: 64 }, async (gateways, system) => {
      for (const clients of [USUAL, MANY]) many.push(await loaded(system, { gateways, clients, seconds }));
    });
    yield {
      title: `Many clients, ${BLOCK_SECONDS} s blocks, two workers of 512 places and 1,024 that wait`,
      rows: many,
    };
    const [few, greedy]: [Row[], Row[]] = [[], []];
    await withGateways({ upstream: slow.url, accounts: 64, workers: FEW_PLACES }, async (gateways, system) => {
      for (const clients of [USUAL, CROWD]) few.push(await loaded(system, { gateways, clients, seconds }));
      greedy.push(await besideGreedy(system, { gateways, seconds }));
    });
    const one = `one worker of ${FEW_PLACES.concurrency} places and ${FEW_PLACES.queue} that wait, ${ANSWER_MS} ms an answer`;
    yield { title: `More clients than places, ${BLOCK_SECONDS} s blocks, ${one}`, rows: few };
    yield { title: `A wallet with ${GREEDY} requests beside ${MODEST} wallets with one each, ${one}`, rows: greedy };
  } finally {
    slow.stop();
  }
}

/** Runs something with one gateway, then with two of the same system. */
async function withGateways(
  options: Pick<SystemOptions, "upstream" | "accounts" | "workers">,
  run: (gateways: number, system: System) => Promise<void>,
): Promise<void> {
  const key: Hex = generatePrivateKey();
  const one = await startSystem({ ...options, blockTime: BLOCK_SECONDS, credits: 500_000, gatewayKeys: [key] });
  try {
    await run(1, one);
    const two = await withGateway(one, key);
    try {
      await run(2, two);
    } finally {
      await two.stop();
    }
  } finally {
    await one.stop();
  }
}

type LoadOptions = { gateways: number; clients: number; seconds: number };

async function loaded(system: System, { gateways, clients, seconds }: LoadOptions): Promise<Row> {
  progress(`${clients} clients, gateways: ${gateways}`);
  await load(system.target, { concurrency: clients, stream: true, seconds: 3 });
  await indexCaughtUp(system.stack);
  const count = await chainCounts(system);
  const startedAt = performance.now();
  const samples = await load(system.target, { concurrency: clients, stream: true, seconds });
  const over = (performance.now() - startedAt) / 1000;
  const { settled, failed } = await count();
  const ok = samples.filter(({ status }) => status === 200);
  return {
    gateways,
    clients,
    "settled jobs a second": settled / over,
    answered: ok.length,
    "errors by code": errorsOf(samples),
    "locks that failed": failed,
    "wait p50, ms": p50(ok.map(({ stages }) => stages["queue"] ?? 0)),
    "wait p99, ms": p99(ok.map(({ stages }) => stages["queue"] ?? 0)),
    "first byte p50, ms": p50(ok.map(({ first }) => first)),
    "first byte p99, ms": p99(ok.map(({ first }) => first)),
  };
}

/** The modest wallets alone, then beside the greedy one; each has one request at a time. */
async function besideGreedy(system: System, { gateways, seconds }: Omit<LoadOptions, "clients">): Promise<Row> {
  const [greedy, ...others] = system.accounts.slice(0, MODEST + 1) as [Account, ...Account[]];
  const modest = async (wanted: () => boolean): Promise<Sample[]> => {
    const plan = { concurrency: 1, stream: true, wanted };
    return (await Promise.all(others.map((account) => load(targetOf(system, account), plan)))).flat();
  };
  const until = (moment: number) => () => performance.now() < moment;
  progress(`${MODEST} wallets alone, gateways: ${gateways}`);
  const alone = await modest(until(performance.now() + seconds * 1000));
  progress(`the same beside one with ${GREEDY} requests`);
  const count = await chainCounts(system);
  let isOver = false;
  const crowd = load(targetOf(system, greedy), { concurrency: GREEDY, stream: true, wanted: () => !isOver });
  // It has its queue before the others come.
  await load(targetOf(system, greedy), { concurrency: 1, stream: true, requests: 2 });
  const beside = await modest(until(performance.now() + seconds * 1000));
  isOver = true;
  const samples = await crowd;
  const { failed } = await count();
  const last = (all: readonly Sample[]) => p99(all.filter(({ status }) => status === 200).map(({ total }) => total));
  return {
    gateways,
    "p99 alone, ms": last(alone),
    "p99 beside, ms": last(beside),
    ratio: last(beside) / last(alone),
    requests: beside.length,
    "their errors": errorsOf(beside),
    "answers of the greedy one": samples.filter(({ status }) => status === 200).length,
    "its errors": errorsOf(samples),
    "locks that failed": failed,
  };
}

const targetOf = (system: System, { apiKey }: Account): Target => ({
  ...system.target,
  // Two gateways take turns.
  get url() {
    return system.target.url;
  },
  headers: () => ({ authorization: `Bearer ${apiKey}` }),
});

function errorsOf(samples: readonly Sample[]): string {
  const codes = Map.groupBy(
    samples.flatMap(({ code }) => code ?? []),
    (code) => code,
  );
  return [...codes].map(([code, { length }]) => `${code}: ${length}`).join(", ") || "none";
}

/** Counts, from now on, the jobs that the chain settled and those that it ended without a charge. */
async function chainCounts({ stack }: System) {
  const transport = http(stack.info.rpc_url, { maxResponseBodySize: false });
  const chain = createPublicClient({ transport });
  const address = stack.info.contracts["InferenceEscrow"] as Address;
  const fromBlock = (await chain.getBlockNumber({ cacheTime: 0 })) + 1n;
  const events = async (eventName: "JobSettled" | "JobFailed" | "JobRefunded") =>
    (await chain.getContractEvents({ address, abi: inferenceEscrowAbi, eventName, fromBlock })).length;
  return async () => ({
    settled: await events("JobSettled"),
    failed: (await events("JobFailed")) + (await events("JobRefunded")),
  });
}
