import { text } from "node:stream/consumers";
import type pg from "pg";
import { decodeFunctionData, encodeFunctionResult, type Hex } from "viem";
import { Balances } from "../../../../../api/chain/balances.ts";
import type { MinedBatch } from "../../../../../api/chain/operations.ts";
import { connectRpc } from "../../../../../api/chain/rpc.ts";
import { inferenceEscrowAbi } from "../../../../../protocol/generated/abi.ts";
import { chainPosition } from "../../../../../protocol/index-schema.ts";
import { serve } from "../../../support/serve.ts";

export const wallet: Hex = `0x${"11".repeat(20)}`;
const escrow: Hex = `0x${"22".repeat(20)}`;
const signer: Hex = `0x${"33".repeat(20)}`;
export const jobId: Hex = `0x${"a1".repeat(16)}`;
const nobody = {
  id: 7,
  sequence: 1,
  dailyLimit: 0,
  spentToday: 0,
  spentDay: 0,
  flags: 0,
  openDisputes: 0,
  operator: 1,
};
/** The chain's time at first, Unix seconds. */
const NOW = 1_900_000_010;

/** What the node has from a block on; `sent`: how many transactions of our signer. Of a wallet that chose operator 1, unless it says more. */
type State = { free: number; escrowed: number; sent: number } & Partial<Omit<typeof nobody, "id" | "sequence">>;

/** A node over HTTP that has one wallet's balance by block, and does what a test says. */
export class ScriptedNode {
  /** Methods asked for so far. */
  readonly asked: string[] = [];
  /** Done before a question is answered. */
  before: (method: string, times: number) => Promise<void> | void = () => {};
  /** Whose connection is closed instead of an answer. */
  unanswered: (method: string, times: number) => boolean = () => false;
  /** Which calls are refused. */
  refused: (times: number) => boolean = () => false;
  /** Wallets that have credits by the index. */
  readonly withCredits = new Set<string>();
  /** The chain's time. */
  time = NOW;
  /** The chain by block; the node's head is the last of them. */
  readonly #chain = new Map<number, State>([[16, { free: 700, escrowed: 30, sent: 4 }]]);
  #head = 16;

  /** Starts it, and returns balances that ask it. */
  async open(): Promise<Balances> {
    const url = await serve(async (request, response) => {
      const { id, method, params } = JSON.parse(await text(request));
      this.asked.push(method);
      const times = this.asked.filter((one) => one === method).length;
      if (this.unanswered(method, times)) return void request.socket.destroy();
      const answer = method === "eth_blockNumber" ? `0x${this.#head.toString(16)}` : this.#at(method, params, times);
      await this.before(method, times);
      const error = { code: -32_000, message: "header not found" };
      response.end(JSON.stringify(answer === null ? { id, error } : { id, result: answer }));
    });
    const rpc = connectRpc(url);
    const query = async ({ name, values: [wallets] }: { name: string; values: [string[]] }) => {
      const rows = name === "index_with_credits" ? wallets.filter((one) => this.withCredits.has(one)) : [];
      return { rows: rows.map((wallet) => ({ wallet })) };
    };
    const pool = { query } as unknown as pg.Pool;
    return new Balances({ rpc, pool, escrow, head: this, settleBefore: (lockedAt) => lockedAt + 150 });
  }

  /** A new block. */
  mine(state: State): void {
    this.#head += 1;
    this.#chain.set(this.#head, state);
  }

  /** Answers at the very block that is asked for, as a node does. */
  #at(method: string, [of, block]: [{ data: Hex } | Hex, string], times: number): Hex | null {
    const state = this.#chain.get(block === "latest" ? this.#head : Number(block));
    if (state === undefined || this.refused(times)) return null;
    if (method === "eth_getTransactionCount") return of === signer ? `0x${state.sent.toString(16)}` : null;
    const { functionName } = decodeFunctionData({ abi: inferenceEscrowAbi, data: (of as { data: Hex }).data });
    if (functionName !== "accountOf") return null;
    const { sent: _, ...account } = state;
    const result = { ...nobody, ...account };
    return encodeFunctionResult({ abi: inferenceEscrowAbi, functionName, result });
  }
}

/** A batch of ours with one event in the block, as its receipt tells. */
export function batch(
  block: number,
  nonce: number,
  name: string,
  job: Hex,
  { free, escrowed, operator = 1, flags = 0 }: Omit<State, "sent">,
) {
  // As in contracts/Words.sol.
  const word = (BigInt(operator) << 240n) | (BigInt(flags) << 224n) | (BigInt(escrowed) << 72n) | (BigInt(free) << 32n);
  const told = /^Job(Locked|Settled)$/.test(name) ? { account: word } : { free, escrowed };
  const event = { name, args: { wallet, jobId: job, ...told }, position: chainPosition(block, 3) };
  return {
    hash: "0x",
    nonce,
    blockNumber: block,
    blockHash: "0x",
    blockTime: 1,
    success: true,
    eventsByJob: new Map([[job, [event]]]),
    failures: new Map(),
  } as unknown as MinedBatch;
}
