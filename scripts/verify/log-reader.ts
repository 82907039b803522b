import { type Address, type Hex, numberToHex, type PublicClient } from "viem";
import type { ChainLog } from "../../protocol/audit/event-log.ts";
import { firstLine, VerifyError } from "./errors.ts";

/** What `eth_getLogs` filters by: one value, any of several, or null for everything, a topic position each. */
export type LogFilter = { address: Address | readonly Address[]; topics?: readonly (Hex | readonly Hex[] | null)[] };

/** Reads logs in bounded spans: nodes refuse, or silently cut, what is too much at once. */
export class LogReader {
  readonly #client: PublicClient;
  #span: bigint;

  constructor(client: PublicClient, span: bigint) {
    this.#client = client;
    this.#span = span;
  }

  /** Logs of blocks `from` to `to`, both inclusive, in order. */
  async read(filter: LogFilter, from: bigint, to: bigint): Promise<ChainLog[]> {
    const logs: ChainLog[] = [];
    for (let next = from; next <= to; ) {
      const end = next + this.#span - 1n < to ? next + this.#span - 1n : to;
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
      const start = end - this.#span + 1n > first ? end - this.#span + 1n : first;
      const found = await this.#page(filter, start, end);
      if (found === null) continue;
      const last = found.at(-1);
      if (last !== undefined) return last;
      end = start - 1n;
    }
    return null;
  }

  async #page({ address, topics }: LogFilter, from: bigint, to: bigint): Promise<ChainLog[] | null> {
    try {
      const raw = await this.#client.request({
        method: "eth_getLogs",
        params: [
          {
            address: address as Address | Address[],
            fromBlock: numberToHex(from),
            toBlock: numberToHex(to),
            ...(topics === undefined ? {} : { topics: topics as (Hex | Hex[] | null)[] }),
          },
        ],
      });
      return raw.map((log) => ({
        address: log.address,
        topics: log.topics,
        data: log.data,
        blockNumber: BigInt(log.blockNumber ?? 0),
        logIndex: Number(log.logIndex ?? 0),
        transactionHash: log.transactionHash as Hex,
      }));
    } catch (error) {
      if (from === to) {
        throw new VerifyError(`the node gave no logs of block ${from}: ${firstLine(error)}`);
      }
      // Providers have limits of their own, of blocks or of results, and no common error for them.
      this.#span = (to - from + 1n) / 2n;
      return null;
    }
  }
}
