import { type Address, createPublicClient, http } from "viem";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { load } from "../load.ts";
import type { Section } from "../report.ts";
import { p50, p99, shown } from "../statistics.ts";
import type { System } from "../system.ts";
import { indexCaughtUp, watchIndexLag } from "./index-lag.ts";

const SETTLE_WAIT_MS = 60_000;
/** One client, before the load: the index as it is when little happens. */
const IDLE_SECONDS = 8;
/** Sustained is what comes after connections are open and code is compiled. */
const WARM_UP_SECONDS = 5;

/** Jobs settled a second over `seconds`, and what is left unsettled at the end: counted on the chain, not by the clients. */
export async function throughput(
  system: System,
  concurrency: number,
  seconds: number,
  blocks: string,
  progress: (line: string) => void,
): Promise<Section> {
  // The events of a minute are more than the client takes in one answer otherwise.
  const transport = http(system.stack.info.rpc_url, { maxResponseBodySize: false });
  const chain = createPublicClient({ transport, pollingInterval: 100 });
  const address = system.stack.info.contracts["InferenceEscrow"] as Address;
  const count = async (eventName: "JobLocked" | "JobSettled", fromBlock: bigint) =>
    (await chain.getContractEvents({ address, abi: inferenceEscrowAbi, eventName, fromBlock })).length;
  await indexCaughtUp(system.stack);
  const idleLag = await watchIndexLag(system.stack);
  await load(system.target, { concurrency: 1, stream: true, seconds: IDLE_SECONDS });
  const idleLags = await idleLag.stop();
  await load(system.target, { concurrency, stream: true, seconds: WARM_UP_SECONDS });
  const fromBlock = (await chain.getBlockNumber({ cacheTime: 0 })) + 1n;
  const lag = await watchIndexLag(system.stack, 25);
  const startedAt = performance.now();
  let answered = 0;
  const ticker = setInterval(
    () => progress(`${blocks}: ${answered} answered after ${Math.round((performance.now() - startedAt) / 1000)} s`),
    5_000,
  );
  const [memoryBefore, processorBefore] = [system.memory(), system.processor()];
  const samples = await load(system.target, { concurrency, stream: true, seconds }, () => answered++);
  const loadSeconds = (performance.now() - startedAt) / 1000;
  clearInterval(ticker);
  const processor = system.processor();
  const settledInTime = await count("JobSettled", fromBlock);
  const locked = await count("JobLocked", fromBlock);
  const deadline = Date.now() + SETTLE_WAIT_MS;
  let settled = settledInTime;
  while (settled < samples.filter(({ status }) => status === 200).length && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    settled = await count("JobSettled", fromBlock);
  }
  const lags = await lag.stop();
  const ok = samples.filter(({ status }) => status === 200);
  const transactions = await batches(chain, address, fromBlock);
  const first = ok.map((sample) => sample.first);
  const memory = system.memory();
  const result = {
    blocks,
    concurrency,
    seconds: loadSeconds,
    settled_per_second: settledInTime / loadSeconds,
    answered: ok.length,
    failed: samples.length - ok.length,
    locked,
    // Jobs of the single client before the load can settle within it.
    unsettled: Math.max(0, ok.length - settled),
    first_p50: p50(first),
    first_p99: p99(first),
    jobs_per_transaction: transactions.jobs / Math.max(1, transactions.count),
    gas_per_job: transactions.gas / Math.max(1, settled),
    index_lag_idle_p50: p50(idleLags),
    index_lag_idle_p99: p99(idleLags),
    index_lag_p50: p50(lags),
    index_lag_p99: p99(lags),
    processor_ms_per_job: Object.fromEntries(
      Object.entries(processor).map(([name, ms]) => [name, (ms - (processorBefore[name] ?? 0)) / ok.length]),
    ),
    memory_before: memoryBefore,
    memory,
  };
  return {
    title: `Settled jobs a second, ${blocks}, ${concurrency} clients`,
    columns: ["what", "value"],
    rows: [
      ["settled jobs a second", shown(result.settled_per_second)],
      ["over", `${shown(loadSeconds)} s`],
      ["answered / failed / left unsettled", `${ok.length} / ${result.failed} / ${result.unsettled}`],
      ["time to first byte p50 / p99", `${shown(result.first_p50, 0)} / ${shown(result.first_p99, 0)} ms`],
      ["settled jobs a transaction", shown(result.jobs_per_transaction)],
      ["gas a job, lock and settlement", shown(result.gas_per_job, 0)],
      [
        "block → row of the index with one client p50 / p99",
        `${shown(result.index_lag_idle_p50, 0)} / ${shown(result.index_lag_idle_p99, 0)} ms`,
      ],
      [
        "block → row of the index p50 / p99",
        `${shown(result.index_lag_p50, 0)} / ${shown(result.index_lag_p99, 0)} ms`,
      ],
      ...Object.entries(result.processor_ms_per_job).map(([name, ms]) => [
        `processor time of ${name} a job`,
        `${shown(ms, 2)} ms`,
      ]),
      ...Object.entries(memory).map(([name, mb]) => [
        `memory of ${name}, before → after`,
        `${shown(memoryBefore[name] ?? Number.NaN, 0)} → ${shown(mb, 0)} MB`,
      ]),
    ],
    json: [result],
  };
}

type Chain = ReturnType<typeof createPublicClient>;

async function batches(
  chain: Chain,
  address: Address,
  fromBlock: bigint,
): Promise<{ count: number; jobs: number; gas: number }> {
  const settled = await chain.getContractEvents({
    address,
    abi: inferenceEscrowAbi,
    eventName: "JobSettled",
    fromBlock,
  });
  const locked = await chain.getContractEvents({ address, abi: inferenceEscrowAbi, eventName: "JobLocked", fromBlock });
  const hashes = [...new Set([...settled, ...locked].map((event) => event.transactionHash))];
  let gas = 0;
  for (const hash of hashes) gas += Number((await chain.getTransactionReceipt({ hash })).gasUsed);
  return { count: new Set(settled.map((event) => event.transactionHash)).size, jobs: settled.length, gas };
}
