/**
 * A real node that behaves as another one: a JSON-RPC proxy that refuses, limits and lags as a profile of test/support/node-profiles.ts says.
 * What it does not bend, the node behind it answers.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  type Hex,
  keccak256,
  numberToHex,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
} from "viem";
import type { NodeProfile, Refused } from "./node-profiles.ts";
import { Random } from "./random.ts";

type Call = { id: number; method: string; params?: unknown[] };
type Answer = { result: unknown } | { error: Refused & { data?: unknown } };

/** What goes wrong beside the profile's habits, until it is taken away. */
export type NodeFaults = {
  /** So many sends are answered with a hash and not passed on. */
  dropSends?: number;
  /** Each nonce is refused as an underpriced replacement for so long after its first try, ms. */
  underpricedFor?: number;
  /** So many receipts come without logs. */
  receiptsWithoutLogs?: number;
  /** Receipts of mined transactions are null. */
  noReceipts?: boolean;
  /** State is that of so many blocks ago, while headers are current. */
  stateBehind?: number;
  /** It has no state of earlier blocks than this one: geth keeps that of 128, and a node that began with a snapshot none from before. */
  stateSince?: number;
  /** So many requests of these methods take effect, and their answers are lost. */
  loseAnswers?: { count: number; methods: readonly string[] };
  /** So many sends are passed on, and answered with an error. */
  refuseTaken?: number;
  /** Of a transaction that is not in a block it has an error, as geth while it indexes. */
  indexing?: boolean;
  /** A receipt that it has given once is given for ever, whatever becomes of the block. */
  staleReceipts?: boolean;
  /** So many receipts name the block that a sequencer has announced before it was sealed, with another hash. */
  preconfirmed?: number;
  /** Methods that what stands before the node blocks with 403 and no JSON. */
  blocked?: readonly string[];
  /** So many calls of a contract are answered with nothing. */
  emptyCalls?: number;
  /** Where there are no logs it says null. */
  nullLogs?: boolean;
  /** The answers of a batch are in the opposite order, their ids as text. */
  looseBatches?: boolean;
};

const refusedDelegation: Refused = {
  code: -32000,
  message: "in-flight transaction limit reached for delegated accounts",
};
const EMPTY_BLOOM = `0x${"0".repeat(512)}`;
const TAGS = new Set(["latest", "pending", "safe", undefined]);
/** Methods whose parameter of this place is a block. */
const BLOCK_AT: Record<string, number> = { eth_call: 1, eth_getBalance: 1, eth_getTransactionCount: 1, eth_getCode: 1 };

export class NodeProxy {
  profile: NodeProfile;
  faults: NodeFaults = {};
  /** Calls by method, refusals as `refused <why>`, blocks with their transactions as `whole block`. */
  readonly counts = new Map<string, number>();
  readonly #node: string;
  readonly #random: Random;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** When each nonce was first sent, ms. */
  readonly #firstSent = new Map<string, number>();
  /** Receipts as they were first given, by transaction. */
  readonly #receipts = new Map<Hex, unknown>();

  private constructor(node: string, profile: NodeProfile, seed: number) {
    this.#node = node;
    this.profile = profile;
    this.#random = new Random(seed);
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => void this.#serve(Buffer.concat(parts).toString("utf8"), response));
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** `port`: any free one by default. */
  static async open(node: string, profile: NodeProfile, { port = 0, seed = 1 } = {}): Promise<NodeProxy> {
    const proxy = new NodeProxy(node, profile, seed);
    await new Promise<void>((resolve) => proxy.#server.listen(port, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How often something was counted. */
  count(what: string): number {
    return this.counts.get(what) ?? 0;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(body: string, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(body) as Call | Call[];
    const calls = Array.isArray(asked) ? asked : [asked];
    const say = (status: number, text: string) => {
      if (!response.destroyed) response.writeHead(status, { "content-type": "application/json" }).end(text);
    };
    try {
      const { batch, limited, behind } = this.profile;
      if (Array.isArray(asked) && batch !== null && calls.length > batch.most) {
        this.#note("refused batch");
        if (batch.form === "drop") return void response.destroy();
        if (batch.form === "413") return say(413, "Request Entity Too Large");
        return say(200, JSON.stringify({ jsonrpc: "2.0", id: null, error: batch.refused }));
      }
      if (calls.some(({ method }) => this.faults.blocked?.includes(method))) {
        this.#note("refused blocked");
        return say(403, "Forbidden");
      }
      const tooMany = limited !== null && this.#random.chance(limited.share) ? limited.form : null;
      if (tooMany !== null) {
        this.#note("refused as too many");
        const error = { code: -32005, message: "Too Many Requests" };
        if (tooMany === "text") return say(200, "invalid host specified");
        if (tooMany === "internal") {
          const failed = calls.map(({ id }) => ({
            jsonrpc: "2.0",
            id,
            error: { code: -32603, message: "Internal error" },
          }));
          return say(200, JSON.stringify(Array.isArray(asked) ? failed : failed[0]));
        }
        const replies = calls.map(({ id }) => ({ jsonrpc: "2.0", id, error }));
        return say(tooMany === "429" ? 429 : 200, JSON.stringify(Array.isArray(asked) ? replies : replies[0]));
      }
      // A balancer passes a whole request to one node.
      const lag = behind !== null && this.#random.chance(behind.share) ? behind.blocks : 0;
      const replies: (Answer & { id: number })[] = [];
      for (const call of calls) replies.push({ id: call.id, ...(await this.#answer(call, lag)) });
      const lose = this.faults.loseAnswers;
      if (lose && lose.count > 0 && calls.some(({ method }) => lose.methods.includes(method))) {
        lose.count -= 1;
        return void response.destroy();
      }
      const written: { id: number | string }[] = replies.map((reply) => ({ jsonrpc: "2.0", ...reply }));
      if (this.faults.looseBatches && Array.isArray(asked)) {
        for (const reply of written) reply.id = String(reply.id);
        written.reverse();
      }
      say(200, JSON.stringify(Array.isArray(asked) ? written : written[0]));
    } catch {
      // The node behind it is away.
      response.destroy();
    }
  }

  async #answer({ method, params = [] }: Call, lag: number): Promise<Answer> {
    this.#note(method);
    if (method === "eth_getBlockByNumber" && params[1] === true) this.#note("whole block");
    const { profile, faults } = this;
    if (!profile.pendingTag && params.includes("pending"))
      return this.#refuse("pending", { code: -32602, message: "Invalid block params" });
    if (!profile.finalTag && params.includes("finalized"))
      return this.#refuse("finalized", { code: -39001, message: "finalized block not found" });
    if (method.startsWith("eth_sendRaw")) return this.#send(method, params[0] as Hex);
    if (method === "eth_getTransactionReceipt") return this.#receipt(params[0] as Hex, lag);
    if (method === "eth_getTransactionByHash") {
      const answer = await this.#ask(method, params);
      const block = "result" in answer ? (answer.result as { blockNumber: Hex | null } | null)?.blockNumber : null;
      const isThere = block ? await this.#isOld(block, lag + profile.receiptsAfter) : profile.showsPool;
      return isThere ? answer : this.#unknown();
    }
    if (method === "eth_getLogs")
      return this.#logs(params[0] as { fromBlock?: Hex; toBlock?: Hex; blockHash?: Hex }, lag);
    const place = BLOCK_AT[method];
    if (place !== undefined && Number(params[place]) < (faults.stateSince ?? 0)) {
      return this.#refuse("old state", { code: -32000, message: "missing trie node" });
    }
    const state = place === undefined ? 0 : (faults.stateBehind ?? 0);
    const answer =
      lag + state > 0 ? await this.#askBehind(method, params, lag, state) : await this.#ask(method, params);
    if (method === "eth_call" && this.#spend("emptyCalls")) return { result: "0x" };
    return method === "eth_call" || method === "eth_estimateGas" ? this.#reverted(answer) : answer;
  }

  /** Whether one of so many is left, which is used up now. */
  #spend(what: "dropSends" | "refuseTaken" | "receiptsWithoutLogs" | "preconfirmed" | "emptyCalls"): boolean {
    const left = this.faults[what] ?? 0;
    if (left <= 0) return false;
    this.faults[what] = left - 1;
    this.#note(what);
    return true;
  }

  /** What it says of a transaction that it does not have. */
  #unknown(): Answer {
    if (!this.faults.indexing) return { result: null };
    return this.#refuse("indexing", { code: -32000, message: "transaction indexing is in progress" });
  }

  async #send(method: string, raw: Hex): Promise<Answer> {
    const { profile, faults } = this;
    if (method === "eth_sendRawTransactionSync" && !profile.sync) {
      return this.#refuse("sync", { code: -32601, message: `the method ${method} does not exist/is not available` });
    }
    if (this.#spend("dropSends")) return { result: keccak256(raw) };
    const { nonce = 0, gas = 0n, maxFeePerGas = 0n } = parseTransaction(raw);
    const from = await recoverTransactionAddress({ serializedTransaction: raw as TransactionSerialized });
    const key = `${from} ${nonce}`;
    const first = this.#firstSent.get(key) ?? Date.now();
    this.#firstSent.set(key, first);
    if (Date.now() - first < (faults.underpricedFor ?? 0))
      return this.#refuse("underpriced", profile.words.replacement);
    if (profile.costCap !== null && gas * maxFeePerGas > profile.costCap.wei)
      return this.#refuse("cost", profile.costCap.refused);
    if (profile.gasCap !== null && gas > profile.gasCap.gas) return this.#refuse("gas", profile.gasCap.refused);
    if (profile.refusesGaps) {
      const next = await this.#countOf(from, "pending");
      if (nonce > next) {
        return this.#refuse("gap", { code: -32010, message: `NonceGap, Future nonce. Expected nonce: ${next}` });
      }
    }
    if (profile.mostPending !== null) {
      const [next, pending] = [await this.#countOf(from, "latest"), await this.#countOf(from, "pending")];
      if (nonce >= pending && pending - next >= profile.mostPending) {
        return this.#refuse("pending ones", refusedDelegation);
      }
    }
    const answer = await this.#ask(method, [raw]);
    if (this.#spend("refuseTaken")) return { error: { code: -32603, message: "Internal error" } };
    if ("result" in answer) return answer;
    const count = await this.#countOf(from, "latest");
    return this.#refuse("send", this.#worded(answer.error, count, nonce));
  }

  async #countOf(from: Hex, tag: "latest" | "pending"): Promise<number> {
    return Number(resultOf(await this.#ask("eth_getTransactionCount", [from, tag])));
  }

  /** The node's refusal in the words of the profile's. */
  #worded(error: Refused, count: number, nonce: number): Refused {
    const { words } = this.profile;
    if (/nonce too low/i.test(error.message)) return words.nonceTooLow(count, nonce);
    if (/already (known|imported)/i.test(error.message)) return words.known;
    if (/replacement/i.test(error.message)) return words.replacement;
    if (/base fee|underpriced/i.test(error.message)) return words.belowBaseFee;
    return /insufficient funds/i.test(error.message) ? words.funds : error;
  }

  async #receipt(hash: Hex, lag: number): Promise<Answer> {
    const { profile, faults } = this;
    const stale = faults.staleReceipts ? this.#receipts.get(hash) : undefined;
    if (stale !== undefined) return { result: stale };
    const answer = await this.#ask("eth_getTransactionReceipt", [hash]);
    const receipt = "result" in answer ? (answer.result as { blockNumber: Hex; logs: unknown[] } | null) : null;
    if (receipt === null || faults.noReceipts || !(await this.#isOld(receipt.blockNumber, lag + profile.receiptsAfter)))
      return "error" in answer ? answer : this.#unknown();
    if (faults.staleReceipts) this.#receipts.set(hash, receipt);
    if (this.#spend("preconfirmed")) return { result: { ...receipt, blockHash: keccak256(hash) } };
    if (receipt.logs.length === 0 || !this.#spend("receiptsWithoutLogs")) return answer;
    return { result: { ...receipt, logs: [], logsBloom: EMPTY_BLOOM } };
  }

  async #logs(filter: { fromBlock?: Hex; toBlock?: Hex; blockHash?: Hex }, lag: number): Promise<Answer> {
    const { logs } = this.profile;
    const head = (await this.#head()) - lag;
    const number = (tag: Hex | undefined) => (tag?.startsWith("0x") ? Number(tag) : head);
    const [from, to] = [number(filter.fromBlock), number(filter.toBlock)];
    if (filter.blockHash === undefined) {
      if (logs !== null && to - from + 1 > logs.blocks) return this.#refuse("range", logs.refused);
      if (from > head) return { result: this.faults.nullLogs ? null : [] };
    }
    const asked = filter.blockHash
      ? filter
      : { ...filter, fromBlock: numberToHex(from), toBlock: numberToHex(Math.min(to, head)) };
    const answer = await this.#ask("eth_getLogs", [asked]);
    const found = "result" in answer ? (answer.result as unknown[]).length : 0;
    if (this.faults.nullLogs && "result" in answer && found === 0) {
      this.#note("nullLogs");
      return { result: null };
    }
    return logs !== null && found > logs.results ? this.#refuse("range", logs.refused) : answer;
  }

  /** As a node that is `lag` blocks behind, with state that is another `state` blocks older, answers. */
  async #askBehind(method: string, params: unknown[], lag: number, state: number): Promise<Answer> {
    const head = Math.max(0, (await this.#head()) - lag);
    if (method === "eth_blockNumber") return { result: numberToHex(head) };
    const place = method === "eth_getBlockByNumber" ? 0 : BLOCK_AT[method];
    if (place === undefined) return this.#ask(method, params);
    const tag = params[place] as string | undefined;
    if (!TAGS.has(tag) && tag?.startsWith("0x") && tag.length < 20) {
      if (Number(tag) > head) {
        return method === "eth_getBlockByNumber"
          ? { result: null }
          : this.#refuse("block", { code: -32000, message: "header not found" });
      }
      return this.#ask(method, params);
    }
    if (!TAGS.has(tag)) return this.#ask(method, params);
    const asked = [...params];
    asked[place] = numberToHex(Math.max(0, head - state));
    return this.#ask(method, asked);
  }

  #reverted(answer: Answer): Answer {
    if ("result" in answer || this.profile.revert === "plain") return answer;
    const { data } = answer.error;
    if (this.profile.revert === "bare") return { error: { code: -32000, message: "execution reverted" } };
    return {
      error: {
        code: -32015,
        message: "VM execution error.",
        data: typeof data === "string" ? `Reverted ${data}` : data,
      },
    };
  }

  /** Whether a block has so many blocks on top. */
  async #isOld(block: Hex, blocks: number): Promise<boolean> {
    return blocks === 0 || (await this.#head()) - Number(block) >= blocks;
  }

  async #head(): Promise<number> {
    return Number(resultOf(await this.#ask("eth_blockNumber", [])));
  }

  #refuse(why: string, error: Refused): Answer {
    this.#note(`refused ${why}`);
    return { error };
  }

  #note(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async #ask(method: string, params: unknown[]): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(this.#node, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result, error } = (await response.json()) as { result?: unknown; error?: Refused };
    return error === undefined ? { result } : { error };
  }
}

const resultOf = (answer: Answer): unknown => ("result" in answer ? answer.result : null);
