/** One node and one escrow: all that a verifier trusts. */
import {
  type Address,
  type Client,
  createClient,
  erc20Abi,
  getAddress,
  type Hex,
  isAddressEqual,
  numberToHex,
  type RpcLog,
  zeroAddress,
} from "viem";
import { getBlock, getChainId, getCode, getTransaction, getTransactionReceipt } from "viem/actions";
import { inferenceEscrowAbi, workerRegistryAbi } from "../protocol/generated/abi.ts";
import type { AccountWord } from "../protocol/words.ts";
import { readerOf } from "../shared/contract-reader.ts";
import { inBatches } from "../shared/in-batches.ts";
import { LogSpan } from "../shared/log-span.ts";
import { nodeTransport } from "../shared/node-transport.ts";
import { nodeHost } from "../shared/node-url.ts";
import { oneLine } from "../shared/one-line.ts";
import type { AuditTransaction } from "./calls.ts";
import type { AuditAddresses, ChainLog } from "./events.ts";
import type { Ledger } from "./evidence.ts";

/** Something the person who asks can correct, or has to wait for; shown without a stack. The command ends with status 2. */
export class VerifyError extends Error {
  override name = "VerifyError";
}

/** The first line of what went wrong, without viem's long tail of request bodies. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return oneLine(text.split("\n")[0] ?? text, 300);
}

/** The filter of `eth_getLogs`: for each topic position one value, any of several, or null for everything. */
export type LogFilter = { address: Address | readonly Address[]; topics?: readonly (Hex | readonly Hex[] | null)[] };

/** A log as `eth_getLogs` returns it. */
export const chainLog = ({ address, topics, data, blockNumber, logIndex, transactionHash }: RpcLog): ChainLog => ({
  address,
  topics,
  data,
  blockNumber: BigInt(blockNumber ?? 0),
  logIndex: Number(logIndex ?? 0),
  transactionHash: transactionHash as Hex,
});

/** Blocks or receipts that are asked for at the same time. */
const AT_ONCE = 20;

/** Reads logs in bounded spans: nodes refuse, or silently cut, what is too much at once. */
export class LogReader {
  readonly #client: Client;
  readonly #largest: number;
  #span: LogSpan;
  readonly #onTime: (block: bigint, time: number) => void;

  /** `onTime` learns when the block of a log was, from nodes that say so. */
  constructor(client: Client, span: bigint, onTime: (block: bigint, time: number) => void = () => undefined) {
    this.#client = client;
    this.#largest = Number(span);
    this.#span = new LogSpan(this.#largest);
    this.#onTime = onTime;
  }

  /** Logs of blocks `from` to `to`, both inclusive, in order. */
  async read(filter: LogFilter, from: bigint, to: bigint): Promise<ChainLog[]> {
    const logs: ChainLog[] = [];
    for (let next = from; next <= to; ) {
      const span = BigInt(this.#span.blocks);
      const end = next + span - 1n < to ? next + span - 1n : to;
      const found = await this.#page(filter, next, end);
      // A refusal made the span smaller: the same place again.
      if (found === null) continue;
      logs.push(...found);
      next = end + 1n;
    }
    return logs;
  }

  /** The last log before block `before`; reads backwards, so that a recent one is found soon. */
  async lastBefore(filter: LogFilter, before: bigint, first: bigint): Promise<ChainLog | null> {
    for (let end = before - 1n; end >= first; ) {
      const span = BigInt(this.#span.blocks);
      const start = end - span + 1n > first ? end - span + 1n : first;
      const found = await this.#page(filter, start, end);
      if (found === null) continue;
      const last = found.at(-1);
      if (last !== undefined) return last;
      end = start - 1n;
    }
    return null;
  }

  async #page(filter: LogFilter, from: bigint, to: bigint): Promise<ChainLog[] | null> {
    const { address, topics } = filter;
    const blocks = Number(to - from) + 1;
    const range = { fromBlock: numberToHex(from), toBlock: numberToHex(to) };
    try {
      const raw = await this.#client.request({
        method: "eth_getLogs",
        params: [{ address: address as Address[], ...range, ...(topics && { topics: topics as Hex[] }) }],
      });
      for (const { blockNumber, blockTimestamp } of raw) {
        if (blockNumber && Number(blockTimestamp ?? 0) > 0) this.#onTime(BigInt(blockNumber), Number(blockTimestamp));
      }
      this.#span.taken(blocks);
      return raw.map(chainLog);
    } catch (error) {
      // Providers have limits of their own, of blocks or of results, and no common error for them.
      if (blocks > 1) {
        this.#span.refused(blocks);
        return null;
      }
      const logs = await this.#fromReceipts(filter, from).catch(() => null);
      if (logs === null) throw new VerifyError(`the node gave no logs of block ${from}: ${firstLine(error)}`);
      // The logs of this block were too many, which says nothing of other blocks.
      this.#span = new LogSpan(this.#largest);
      return logs;
    }
  }

  /** Logs of a block that has more of them than a reply may hold, transaction by transaction. */
  async #fromReceipts({ address, topics = [] }: LogFilter, blockNumber: bigint): Promise<ChainLog[]> {
    const { transactions } = await getBlock(this.#client, { blockNumber });
    const addresses = [address].flat().map((one) => one.toLowerCase());
    const receipts = await inBatches(transactions, AT_ONCE, (hash) => getTransactionReceipt(this.#client, { hash }));
    return receipts
      .flatMap(({ logs }) => logs)
      .filter((log) => addresses.includes(log.address.toLowerCase()))
      .filter((log) => topics.every((wanted, i) => wanted === null || [wanted].flat().includes(log.topics[i] as Hex)));
  }
}

/**
 * The chain that is audited. `chainId`: the id that it must have, null for any. `startBlock`: block of the deployment or any before it
 * (default 0). `span`: most blocks asked for at once (default 10,000).
 */
export type ChainOptions = {
  rpcUrl: string;
  escrow: Address;
  chainId?: number | null;
  startBlock?: bigint;
  span?: bigint;
};

export type Chain = Awaited<ReturnType<typeof openChain>>;
export const Chain = { open: openChain };

/** The id of the node's chain; a {@link VerifyError} where no node answers. */
export function chainIdOf(client: Client, rpcUrl: string): Promise<number> {
  return getChainId(client).catch((error: unknown) => {
    throw new VerifyError(`no node answers at ${nodeHost(rpcUrl)}: ${firstLine(error)}`);
  });
}

/** The error for an address whose contract did not answer. */
export const noEscrow = (escrow: Address, error: unknown): VerifyError =>
  new VerifyError(`the contract at ${escrow} does not answer like an InferenceEscrow: ${firstLine(error)}`);

/** Blocks whose times are asked for at once. */
const PROBES = 8n;

/**
 * Connects, and makes sure that there is an escrow at that address of that chain.
 *
 * @example
 * const chain = await Chain.open({ rpcUrl, escrow });
 */
async function openChain({ rpcUrl, escrow, chainId: expected = null, startBlock = 0n, span = 10_000n }: ChainOptions) {
  const client = createClient({ transport: nodeTransport(rpcUrl, { retryCount: 2, timeout: 20_000 }) });
  const host = nodeHost(rpcUrl);
  const named = chainIdOf(client, rpcUrl);
  const asked = Promise.all([
    getBlock(client),
    readContracts(client, escrow).catch(async (error: unknown) => {
      // The code is 48 kB: it is asked for only where the contract did not answer.
      const code = await getCode(client, { address: escrow });
      if (code !== undefined && code !== "0x") throw error;
      throw new VerifyError(
        `there is no contract at ${escrow} on chain ${await named} (${host}): wrong chain, or wrong --escrow`,
      );
    }),
  ]);
  // All questions go out at once; a wrong chain is told before what follows from it.
  asked.catch(() => undefined);
  const chainId = await named;
  if (expected !== null && expected !== chainId) {
    throw new VerifyError(
      `wrong chain: the node at ${host} is chain ${chainId}, but the stack file's escrow is on chain ${expected}. Give --rpc a node of that chain, or --escrow for this one.`,
    );
  }
  const [newest, contracts] = await asked;
  const { number: head } = newest;
  const { read, balanceOf, addresses, windows, disputeBond, signerOf } = contracts;
  const { note, readTimes, timeOf } = blockTimes(client);
  note(head, Number(newest.timestamp));

  /** The first block whose time is at least `time`; the head's successor if there is none. */
  const firstBlockAt = async (time: number): Promise<bigint> => {
    if (timeOf(head) < time) return head + 1n;
    let low = 0n;
    let high = head;
    while (low < high) {
      // A node answers several questions as fast as one.
      const step = (high - low) / PROBES + 1n;
      const probes: bigint[] = [];
      for (let probe = high - 1n; probe >= low; probe -= step) probes.push(probe);
      await readTimes(probes);
      const late = probes.filter((probe) => timeOf(probe) >= time).length;
      const before = probes[late];
      high = probes[late - 1] ?? high;
      low = before === undefined ? low : before + 1n;
    }
    return low;
  };

  /** A mined transaction with its logs. */
  const transaction = async (hash: Hex): Promise<{ transaction: AuditTransaction; logs: ChainLog[] }> => {
    const [sent, receipt] = await Promise.all([
      getTransaction(client, { hash }).catch(() => null),
      getTransactionReceipt(client, { hash }).catch((error: Error) => error),
    ]);
    if (sent === null) {
      throw new VerifyError(
        `chain ${chainId} does not know transaction ${hash}: wrong chain, or it was never sent or dropped`,
      );
    }
    if (sent.blockNumber === null) {
      throw new VerifyError(`transaction ${hash} is pending: it is not mined yet. Ask again later.`);
    }
    if (receipt instanceof Error) throw receipt;
    const { status, blockNumber: block, logs } = receipt;
    if (status !== "success") {
      throw new VerifyError(`transaction ${hash} reverted in block ${block}: it changed nothing`);
    }
    const to = sent.to === null ? null : getAddress(sent.to);
    return { transaction: { hash, from: getAddress(sent.from), to, input: sent.input, block }, logs };
  };

  /** The job as the escrow stores it; null if there is none. */
  const storedJob = async (jobId: Hex) => {
    const job = await read("jobOf", [jobId], head);
    if (job.status === 0) return null;
    const worker = await signerOf(job.worker);
    return { ...job, worker: isAddressEqual(worker, zeroAddress) ? null : worker };
  };

  /** Digest and charge of a proven job, as the escrow stores them. */
  const storedProof = async (jobId: Hex): Promise<{ digest: Hex; credits: number }> => {
    const [digest, credits] = await read("proofOf", [jobId], head);
    return { digest, credits };
  };

  /** The escrow's liabilities and holdings at a block. */
  const ledgerAt = async (blockNumber: bigint): Promise<Ledger> => {
    const [[credits, claimableUnits], tokenUnits] = await Promise.all([
      read("liabilities", [], blockNumber),
      balanceOf(escrow, blockNumber),
    ]);
    return { credits, claimableUnits, tokenUnits };
  };
  const hashOf = async (blockNumber: bigint): Promise<Hex> => (await getBlock(client, { blockNumber })).hash;
  const accountAt = (wallet: Address, blockNumber: bigint): Promise<AccountWord> =>
    read("accountOf", [wallet], blockNumber);

  const logs = new LogReader(client, span, note);
  const facts = { chainId, addresses, windows, disputeBond, head, startBlock };
  const reads = { readTimes, timeOf, firstBlockAt, transaction, storedJob, storedProof, ledgerAt, accountAt, hashOf };
  return { logs, ...facts, ...reads };
}

/** The escrow's own terms, and the other contracts that it names. */
async function readContracts(client: Client, escrow: Address) {
  const read = readerOf(client, { address: escrow, abi: inferenceEscrowAbi });
  try {
    const [token, registry, catalog, panel, windows, disputeBond] = await Promise.all([
      read("token", []),
      read("REGISTRY", []),
      read("CATALOG", []),
      read("PANEL", []),
      read("windows", []),
      read("DISPUTE_BOND", []),
    ]);
    const workers = readerOf(client, { address: registry, abi: workerRegistryAbi });
    const serviceToken = await workers("STAKE_TOKEN", []);
    const others = { stablecoin: token, registry, catalog, panel, serviceToken };
    const addresses: AuditAddresses = { escrow, ...others, treasury: [] };
    const stablecoin = readerOf(client, { address: token, abi: erc20Abi });
    const balanceOf = (owner: Address, block: bigint) => stablecoin("balanceOf", [owner], block);
    const signerOf = (worker: number) => workers("signerOf", [worker]);
    return { read, balanceOf, addresses, windows, disputeBond, signerOf };
  } catch (error) {
    throw noEscrow(escrow, error);
  }
}

/** Block times, read once each: `timeOf` is for blocks that `note` was told of or `readTimes` has read. */
function blockTimes(client: Client) {
  const times = new Map<bigint, number>();
  const note = (block: bigint, time: number): void => void times.set(block, time);
  const readTimes = async (blocks: Iterable<bigint>): Promise<void> => {
    const missing = [...new Set(blocks)].filter((block) => !times.has(block));
    const found = await inBatches(missing, AT_ONCE, (blockNumber) => getBlock(client, { blockNumber }));
    for (const { number, timestamp } of found) note(number, Number(timestamp));
  };
  const timeOf = (block: bigint): number => {
    const time = times.get(block);
    if (time === undefined) throw new Error(`the time of block ${block} was not read`);
    return time;
  };
  return { note, readTimes, timeOf };
}
