/**
 * A node of a chain whose sequencer confirms transactions before it makes a block: it stands before anvil with slow blocks, and answers as Base's
 * nodes do. Built from base/base at 98a8db8d (v0.6; crates/execution/flashblocks/src: rpc/eth.rs, state_builder.rs, block_assembler.rs) and from
 * specs/flashblocks.md of flashbots/rollup-boost at 87589f8b:
 *
 *     eth_getTransactionReceipt           of the chain; else of the block that is being built, with the hash 0 and the number after the newest block's
 *     eth_sendRawTransactionSync          answers with the first of both, or with the error 4 after six seconds
 *     eth_call, "pending"                 the newest block's state and what the promised transactions change
 *     eth_getTransactionCount, "pending"  the newest block's count and the promised transactions of the sender
 *     eth_getBlockByNumber, "pending"     the block that is being built, with the hash 0; the newest block while nothing is promised
 *
 * Every 200 ms the transactions that came since are promised. Some promises are broken on purpose: the transaction vanishes, and must be sent again.
 * Unlike Base's, this sequencer never promises anything for the block after the next one.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  type Hex,
  keccak256,
  numberToHex,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
  zeroHash,
} from "viem";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import type { StackOptions } from "./services.ts";

/**
 * The same stack with a sequencer before its chain: the gateway and the workers ask that one, and begin jobs on its promises. Close it after the stack.
 */
export async function behindSequencer<T extends Pick<StackOptions, "ports" | "env">>(
  options: T,
  blockSeconds: number,
): Promise<{ options: T; sequencer: Sequencer }> {
  const node = `http://127.0.0.1:${options.ports.chain}`;
  const sequencer = await Sequencer.open(node, { blockSeconds });
  const asked = { RPC_URL: sequencer.url, WS_URL: "" };
  const env = {
    ...options.env,
    // Browsers ask the chain itself.
    api: { ...asked, PUBLIC_RPC_URL: node, LOCK_SEEN: "preconfirmed", ...options.env.api },
    workers: { ...asked, WORKER_LOCK_SEEN: "preconfirmed", ...options.env.workers },
  };
  return { options: { ...options, env }, sequencer };
}

const TICK_MS = 200;
const SYNC_MS = 6_000;
/** A promise that is to be broken stands for so many ticks. */
const BROKEN_AFTER_TICKS = 2;
const EMPTY_BLOOM: Hex = `0x${"0".repeat(512)}`;

type Call = { id: number; method: string; params?: unknown[] };
type Answer = { result: unknown } | { error: { code: number; message: string; data?: unknown } };
type Block = { number: Hex; timestamp: Hex };
type Simulated = { status: Hex; gasUsed: Hex; returnData: Hex; logs: { address: Hex; topics: Hex[]; data: Hex }[] };
/** The fields of a transaction that `eth_simulateV1` takes. */
type SimulatedCall = { from: Hex; to: Hex; input: Hex; gas: Hex };
type Receipt = { blockNumber: Hex; status: Hex; [field: string]: unknown };

/** A transaction that no block has. `vanishesIn`: ticks until its promise is broken; null for one whose promise is kept. */
type Open = { hash: Hex; nonce: number; call: SimulatedCall; promise: Receipt | null; vanishesIn: number | null };

/** The faults that the sequencer makes until they are taken away. */
type Faults = {
  /** Every so many-th transaction vanishes after its promise. */
  breakEvery?: number;
  /** A sent transaction is answered with its hash, and nothing is done with it. */
  losesAll?: boolean;
};

export class Sequencer {
  faults: Faults = {};
  /** Transactions that were promised, and that vanished. */
  readonly counts = { promised: 0, broken: 0 };
  readonly #node: string;
  readonly #blockSeconds: number;
  readonly #server: Server;
  readonly #ticks: Repeated;
  /** In the order in which they came. */
  readonly #open = new Map<Hex, Open>();
  /** Transactions that were promised once: of them no further promise is broken. */
  readonly #promisedOnce = new Set<Hex>();
  /** Those that wait for the receipt of a transaction. */
  readonly #waiting = new Map<Hex, (receipt: Receipt) => void>();

  private constructor(node: string, blockSeconds: number) {
    this.#node = node;
    this.#blockSeconds = blockSeconds;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    // Without its node it promises nothing: the next tick tries again.
    this.#ticks = repeat(() => this.#build().catch(() => {}), TICK_MS);
  }

  /** Listens on any free port. The node need not run yet. `blockSeconds`: between two of its blocks. */
  static async open(node: string, { blockSeconds }: { blockSeconds: number }): Promise<Sequencer> {
    const sequencer = new Sequencer(node, blockSeconds);
    await new Promise<void>((resolve) => sequencer.#server.listen(0, "127.0.0.1", resolve));
    return sequencer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks all promises that stand now. */
  async breakPromises(): Promise<void> {
    for (const one of this.#promised()) await this.#vanish(one);
  }

  async close(): Promise<void> {
    await this.#ticks.stop();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  // ---------------------------------------------------------------------------------------------------- promises

  /** Promises what can be mined in the next block, in this order. */
  async #build(): Promise<void> {
    for (const one of this.#open.values()) await this.#letVanish(one);
    const block = await this.#newest();
    const counts = new Map<Hex, number>();
    const next: Open[] = [];
    for (const one of this.#open.values()) {
      const { from } = one.call;
      const count = counts.get(from) ?? Number(await this.#result<Hex>("eth_getTransactionCount", [from, "latest"]));
      counts.set(from, count + (one.nonce === count ? 1 : 0));
      if (one.nonce === count) next.push(one);
      else one.promise = null;
      if (one.nonce < count) await this.#close(one);
    }
    if (next.length === 0) return;
    const simulated = await this.#simulate(
      block,
      next.map(({ call }) => call),
    );
    for (const [index, one] of next.entries()) {
      one.promise = this.#receipt(one, simulated, index, block);
      if (!this.#promisedOnce.has(one.hash)) this.#promiseFirst(one);
      this.#waiting.get(one.hash)?.(one.promise);
    }
  }

  #promiseFirst(one: Open): void {
    const { breakEvery } = this.faults;
    this.#promisedOnce.add(one.hash);
    this.counts.promised += 1;
    if (breakEvery !== undefined && this.counts.promised % breakEvery === 0) one.vanishesIn = BROKEN_AFTER_TICKS;
  }

  async #letVanish(one: Open): Promise<void> {
    if (one.vanishesIn === null) return;
    one.vanishesIn -= 1;
    if (one.vanishesIn === 0) await this.#vanish(one);
  }

  async #vanish({ hash }: Open): Promise<void> {
    await this.#result("anvil_dropTransaction", [hash]);
    this.#open.delete(hash);
    this.counts.broken += 1;
  }

  /** A block has its nonce. */
  async #close(one: Open): Promise<void> {
    this.#open.delete(one.hash);
    const receipt = await this.#result<Receipt | null>("eth_getTransactionReceipt", [one.hash]);
    if (receipt !== null) this.#waiting.get(one.hash)?.(receipt);
  }

  async #simulate(block: Block, calls: readonly SimulatedCall[]): Promise<Simulated[]> {
    const time = numberToHex(this.#timeAfter(block));
    const asked = { blockStateCalls: [{ blockOverrides: { time }, calls }] };
    const [made] = await this.#result<{ calls: Simulated[] }[]>("eth_simulateV1", [asked, block.number]);
    return made?.calls ?? [];
  }

  #timeAfter = ({ timestamp }: Block): number => Number(timestamp) + this.#blockSeconds;

  #receipt({ hash, call }: Open, all: readonly Simulated[], index: number, newest: Block): Receipt {
    const { status, gasUsed, logs } = all[index] as Simulated;
    const logsBefore = all.slice(0, index).reduce((sum, one) => sum + one.logs.length, 0);
    const place = {
      blockHash: zeroHash,
      blockNumber: numberToHex(Number(newest.number) + 1),
      transactionHash: hash,
      transactionIndex: numberToHex(index),
    };
    const blockTimestamp = numberToHex(this.#timeAfter(newest));
    return {
      ...place,
      type: "0x2",
      from: call.from,
      to: call.to,
      contractAddress: null,
      status,
      gasUsed,
      cumulativeGasUsed: numberToHex(all.slice(0, index + 1).reduce((sum, one) => sum + Number(one.gasUsed), 0)),
      effectiveGasPrice: "0x1",
      logsBloom: EMPTY_BLOOM,
      logs: logs.map(({ address, topics, data }, at) => {
        const logIndex = numberToHex(logsBefore + at);
        return { address, topics, data, ...place, logIndex, blockTimestamp, removed: false };
      }),
    };
  }

  #promised(): Open[] {
    return [...this.#open.values()].filter(({ promise }) => promise !== null);
  }

  // ---------------------------------------------------------------------------------------------------- JSON-RPC

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const asked = JSON.parse(await text(request)) as Call | Call[];
      const answer = async (call: Call) => ({ jsonrpc: "2.0", id: call.id, ...(await this.#answer(call)) });
      const reply = await (Array.isArray(asked) ? Promise.all(asked.map(answer)) : answer(asked));
      response.setHeader("content-type", "application/json").end(JSON.stringify(reply));
    } catch {
      // The node behind it is away.
      response.destroy();
    }
  }

  async #answer({ method, params = [] }: Call): Promise<Answer> {
    if (method === "eth_sendRawTransaction") return this.#send(params[0] as Hex);
    if (method === "eth_sendRawTransactionSync") return this.#sendAndWait(params[0] as Hex);
    if (method === "eth_getTransactionReceipt") {
      const answer = await this.#ask(method, params);
      const promise = this.#open.get(params[0] as Hex)?.promise ?? null;
      return "result" in answer && answer.result === null ? { result: promise } : answer;
    }
    if (params.includes("pending")) return this.#pending(method, params);
    return this.#ask(method, params);
  }

  async #pending(method: string, params: unknown[]): Promise<Answer> {
    const promised = this.#promised();
    if (method === "eth_call") {
      const { from = `0x${"0".repeat(40)}`, to, data, input = data } = params[0] as Record<string, Hex>;
      const call = { from, to, input, gas: numberToHex(10_000_000) } as SimulatedCall;
      const made = await this.#simulate(await this.#newest(), [...promised.map((one) => one.call), call]);
      const { status, returnData } = made.at(-1) as Simulated;
      if (status === "0x1") return { result: returnData };
      return { error: { code: 3, message: "execution reverted", data: returnData } };
    }
    const latest = params.map((param) => (param === "pending" ? "latest" : param));
    if (method === "eth_getTransactionCount") {
      const count = Number(await this.#result<Hex>(method, latest));
      const sender = String(params[0]).toLowerCase();
      return { result: numberToHex(count + promised.filter(({ call }) => call.from.toLowerCase() === sender).length) };
    }
    if (method === "eth_getBlockByNumber" && promised.length > 0) {
      const newest = await this.#result<Block>(method, latest);
      const [number, timestamp] = [Number(newest.number) + 1, this.#timeAfter(newest)].map((value) =>
        numberToHex(value),
      );
      const transactions = promised.map(({ hash }) => hash);
      return { result: { ...newest, hash: zeroHash, number, timestamp, transactions } };
    }
    return this.#ask(method, latest);
  }

  async #send(raw: Hex): Promise<Answer> {
    if (this.faults.losesAll) return { result: keccak256(raw) };
    const { nonce = 0, to, data = "0x", gas = 0n } = parseTransaction(raw);
    const from = await recoverTransactionAddress({ serializedTransaction: raw as TransactionSerialized });
    const answer = await this.#ask("eth_sendRawTransaction", [raw]);
    const hash = keccak256(raw);
    if ("result" in answer && !this.#open.has(hash)) {
      const call = { from, to: to as Hex, input: data, gas: numberToHex(gas) };
      for (const one of this.#open.values()) {
        if (one.nonce === nonce && one.call.from === from) this.#open.delete(one.hash); // Replaced.
      }
      this.#open.set(hash, { hash, nonce, call, promise: null, vanishesIn: null });
    }
    return answer;
  }

  async #sendAndWait(raw: Hex): Promise<Answer> {
    const sent = await this.#send(raw);
    if ("error" in sent) return sent;
    const hash = sent.result as Hex;
    const { promise, resolve } = Promise.withResolvers<Receipt | null>();
    const timer = setTimeout(() => resolve(null), SYNC_MS);
    this.#waiting.set(hash, resolve);
    const receipt = await promise;
    clearTimeout(timer);
    this.#waiting.delete(hash);
    if (receipt !== null) return { result: receipt };
    return { error: { code: 4, message: "The transaction was added to the mempool but wasn't processed in time." } };
  }

  #newest(): Promise<Block> {
    return this.#result<Block>("eth_getBlockByNumber", ["latest", false]);
  }

  async #result<T>(method: string, params: readonly unknown[]): Promise<T> {
    const answer = await this.#ask(method, params);
    if ("error" in answer) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result as T;
  }

  async #ask(method: string, params: readonly unknown[]): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(this.#node, { method: "POST", body, headers: { "content-type": "application/json" } });
    return (await response.json()) as Answer;
  }
}
