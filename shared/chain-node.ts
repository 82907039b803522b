/**
 * The chain as gateway and worker read it: JSON-RPC through one or several nodes. This is the one place that deals with the limits and
 * faults of nodes. A call that changes nothing is asked again, and a batch becomes as small as the node takes. A node is left out if it is
 * silent, behind, far ahead, on another fork or of another chain, or if it contradicts itself.
 */
import { type CustomTransport, custom } from "viem";
import {
  type Answer,
  BatchRefused,
  type Call,
  JsonRpc,
  RpcError,
  RpcLimited,
  RpcTooLong,
  RpcUnreachable,
  unwrap,
} from "./json-rpc.ts";
import { nodeHost } from "./node-url.ts";

type Log = { warn: (fields: object, message: string) => void; info: (fields: object, message: string) => void };

/** Pauses before a call is asked again, ms: of a node that did not answer, and of one that is asked too much. */
const UNANSWERED_MS = [0, 150];
const LIMITED_MS = [100, 300, 900];
/**
 * JSON-RPC codes of what can pass at the next try: "too many requests" of EIP-1474 and of proxyd before a rollup's nodes, "internal error", "resource
 * unavailable", and proxyd's "no backends available". Some nodes say the first for other limits, and the second, with data, for a revert.
 */
const PASSING_CODES: ReadonlySet<number> = new Set([-32_005, -32_016, -32_603, -32_002, -32_011]);
/** For this long after a node did not answer, it is asked only after all others. */
const REST_MS = 5_000;
/** A limit of batches is tried again beyond itself after this time: a lost connection can have looked like one. */
const BATCH_AGAIN_MS = 60_000;
/** How often several nodes are compared, how far one may be behind the agreed height, and in how many looks. */
const COMPARE_MS = 2_000;
const BEHIND_BLOCKS = 3;
const BEHIND_LOOKS = 2;
/** A node that is further behind than this says nothing of forks. One that is further ahead is not believed. */
const SYNCING_BLOCKS = 64;
/** A node whose newest block is older than this has stopped, or is syncing. */
const STALE_MS = 60_000;
/** How long a node that contradicted itself is left out: its address leads to machines on different forks. */
const CONTRADICTED_MS = 60_000;
const LEFT_OUT =
  "a node is silent, behind, far ahead, on a fork, contradicts itself or is of another chain: it is left out";
/** So often a block is asked for again whose hash is another one than before: a reorganisation does not go back. */
const CONTRADICTION_LOOKS = 3;

/** Sending takes effect: whether it is repeated is for its caller to say. */
const changes = (method: string): boolean => method.startsWith("eth_send");

/** When the tries of one call, or of one batch, are over. */
class Deadline {
  readonly #at: number;

  constructor(ms: number) {
    this.#at = performance.now() + ms;
  }

  /** Milliseconds that are left, at least one. */
  get left(): number {
    return Math.max(1, this.#at - performance.now());
  }

  /** True if the deadline comes within this time. */
  comesWithin(ms: number): boolean {
    return performance.now() + ms >= this.#at;
  }
}

/** One of the nodes, and what is known of it. */
class Source {
  readonly rpc: JsonRpc;
  readonly host: string;
  restsUntil = 0;
  /** Looks in a row in which it was silent, behind or far ahead of the agreed height, or on another fork than most. */
  apart = 0;
  /** A block that it told of at the last look. */
  seen: { height: number; hash: string } | null = null;
  contradictedAt = Number.NEGATIVE_INFINITY;
  /** True if the node last told of another chain. Its silence does not take that back; an answer from the right chain does. */
  isOfOtherChain = false;
  mostCalls = Number.POSITIVE_INFINITY;
  refusedAt = 0;

  constructor(url: string) {
    this.rpc = new JsonRpc(url);
    this.host = nodeHost(url);
  }

  get isLeftOut(): boolean {
    return this.isOfOtherChain || this.apart >= BEHIND_LOOKS || this.hasContradicted;
  }

  get hasContradicted(): boolean {
    return performance.now() - this.contradictedAt < CONTRADICTED_MS;
  }

  /** Its hash of the block at a height; null where it has none, or does not answer. */
  async hashAt(height: number): Promise<string | null> {
    return (await this.#blockAt(height))?.hash ?? null;
  }

  /** True if the node's block at a height is older than a newest block should be. False if the node does not say. */
  async isStaleAt(height: number): Promise<boolean> {
    const timestamp = (await this.#blockAt(height))?.timestamp;
    return timestamp !== undefined && Date.now() - Number(timestamp) * 1_000 > STALE_MS;
  }

  async #blockAt(height: number): Promise<{ hash?: string; timestamp?: string } | null> {
    try {
      return await this.rpc.request("eth_getBlockByNumber", [`0x${height.toString(16)}`, false], COMPARE_MS);
    } catch {
      return null;
    }
  }

  /** True if the node shows two blocks of one height by turns, as two machines on different forks behind one address do. */
  async contradictsItself(): Promise<boolean> {
    const { seen } = this;
    if (seen === null) return false;
    let differed = false;
    for (let looks = 0; looks <= CONTRADICTION_LOOKS; looks++) {
      const hash = await this.hashAt(seen.height);
      if (hash === seen.hash) return differed;
      // A machine that is behind may not have the block yet.
      if (hash !== null) differed = true;
    }
    return false;
  }
}

/** Nodes of one chain, the preferred one first. */
export class ChainNode {
  readonly #sources: readonly Source[];
  readonly #log: Log | null;
  #timer: NodeJS.Timeout | undefined;

  /** `urls` may name user and password; throws when one cannot be read. */
  constructor(urls: readonly string[], log: Log | null = null) {
    this.#sources = urls.map((url) => new Source(url));
    this.#log = log;
  }

  /** Compares several nodes from now on. One that is silent, behind, far ahead, on a fork, contradicts itself, or is not of `chainId`, is left out. */
  watch(chainId: number): void {
    if (this.#sources.length < 2) return;
    this.#timer = setInterval(() => void this.compare(chainId), COMPARE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * One call, whose reply has at most `maxBytes`. Where no usable answer comes, a call that changes nothing is asked again within `timeoutMs`, of
   * another node if there is one. Rejects with RpcError or RpcUnreachable.
   */
  async request<T>(method: string, params: readonly unknown[], timeoutMs = 10_000, maxBytes?: number): Promise<T> {
    const end = new Deadline(timeoutMs);
    const ask = () =>
      this.#again(changes(method), end, method, ({ rpc }) => rpc.request<T>(method, params, end.left, maxBytes));
    const result = await ask();
    // A node that lacks the state of a block answers so at times. Of an address without code it is the answer also the second time.
    return method === "eth_call" && result === "0x" ? ask() : result;
  }

  /**
   * Several calls to one node, in as few requests as it takes, all within `timeoutMs`. The results have the order of the calls. Rejects with the
   * error of the first call that has one.
   */
  async batch<T extends readonly unknown[]>(calls: readonly Call[], timeoutMs = 10_000): Promise<T> {
    return (await this.answers(calls, timeoutMs)).map(unwrap) as unknown as T;
  }

  /** The same, with what the node says to each call. */
  async answers(calls: readonly Call[], timeoutMs = 10_000): Promise<Answer[]> {
    const end = new Deadline(timeoutMs);
    const names = calls.map(({ method }) => method).join(", ");
    const answers = await this.#again(false, end, names, (source) => answersOf(source, calls, end));
    return Promise.all(
      answers.map((answer, index) => {
        const { method, params } = calls[index] as Call;
        // Nodes count the calls of a batch one by one, and refuse some of them.
        return "error" in answer && canPass(answer.error, method)
          ? asAnswer(this.request(method, params, end.left))
          : answer;
      }),
    );
  }

  /** Asks all nodes for their newest block, their chain and their fork, and decides which of them are left out. */
  async compare(chainId: number): Promise<void> {
    const looks = await Promise.all(this.#sources.map((source) => lookAt(source, chainId)));
    const blocks = looks.map(({ block }) => block);
    const reached = await this.#agreedHeight(blocks);
    const near = blocks.filter((block) => block > reached - SYNCING_BLOCKS);
    const height = Math.max(0, Math.min(...near) - BEHIND_BLOCKS);
    const ofThose = <T>(ask: (source: Source) => Promise<T>) =>
      Promise.all(this.#sources.map((source, index) => (blocks[index] === SILENT ? null : ask(source))));
    const hashes = await ofThose((source) => source.hashAt(height));
    const contradictions = await ofThose((source) => source.contradictsItself());
    const wereLeftOut = this.#sources.map(({ isLeftOut }) => isLeftOut);
    for (const [index, source] of this.#sources.entries()) {
      if (contradictions[index]) source.contradictedAt = performance.now();
      const hash = hashes[index] ?? null;
      source.seen = hash === null ? null : { height, hash };
    }
    // One that contradicts itself has no say in which fork is the chain.
    const chosen = commonest(hashes.filter((_, index) => !this.#sources[index]?.hasContradicted));
    const isOnFork = hashes.map((hash) => hash !== null && chosen !== null && hash !== chosen);
    const agreed = await this.#agreedHeight(blocks.map((block, index) => (isOnFork[index] ? SILENT : block)));
    for (const [index, source] of this.#sources.entries()) {
      const wasLeftOut = wereLeftOut[index];
      const { isOfOtherChain, block } = looks[index] as Look;
      source.isOfOtherChain = isOfOtherChain ?? source.isOfOtherChain;
      const isApart = isOnFork[index] || block < agreed - BEHIND_BLOCKS || block > agreed + SYNCING_BLOCKS;
      source.apart = isApart ? source.apart + 1 : 0;
      const [onFork, contradictsItself] = [isOnFork[index], contradictions[index]];
      const told = {
        node: source.host,
        block,
        agreed,
        isOfOtherChain: source.isOfOtherChain,
        onFork,
        contradictsItself,
      };
      if (source.isLeftOut && !wasLeftOut) this.#log?.warn(told, LEFT_OUT);
      if (!source.isLeftOut && wasLeftOut) this.#log?.info(told, "a node is as the others again: it is asked again");
    }
  }

  /**
   * The height that at least half of the nodes that answer have reached, so that one node's claim puts no majority behind. Of two nodes the
   * first decides, because nothing tells which of them is right. The second decides if it is ahead and the first one's newest block is over
   * a minute old. Then the first one shows by itself that it has stopped or is syncing.
   */
  async #agreedHeight(blocks: readonly number[]): Promise<number> {
    const answering = blocks.filter((block) => block !== SILENT);
    const [first, second] = answering;
    if (first !== undefined && second !== undefined && answering.length === 2) {
      const isStale = second > first + BEHIND_BLOCKS && (await this.#sources[blocks.indexOf(first)]?.isStaleAt(first));
      return isStale ? second : first;
    }
    return answering.toSorted((a, b) => b - a)[Math.ceil(answering.length / 2) - 1] ?? SILENT;
  }

  /**
   * The node to ask now: the first that is not left out and does not rest. If all of these rest, it is the one whose rest ends first. Where every
   * node is left out, one that is of this chain is asked all the same; answers of another chain must not be used.
   */
  #pick(method: string): Source {
    const now = performance.now();
    const sound = this.#sources.filter((source) => !source.isLeftOut);
    const usable = sound.length > 0 ? sound : this.#sources.filter(({ isOfOtherChain }) => !isOfOtherChain);
    const picked =
      usable.find(({ restsUntil }) => restsUntil <= now) ?? usable.toSorted((a, b) => a.restsUntil - b.restsUntil)[0];
    if (picked !== undefined) return picked;
    throw new RpcUnreachable(method, new Error("every node is of another chain than this service: see its RPC URLs"));
  }

  async #again<T>(
    once: boolean,
    end: Deadline,
    name: string,
    ask: (source: Source, end: Deadline) => Promise<T>,
  ): Promise<T> {
    for (let tries = 0; ; tries++) {
      const source = this.#pick(name);
      try {
        return await ask(source, end);
      } catch (error) {
        const pauses = pausesAfter(error, name);
        if (error instanceof RpcUnreachable && !(error instanceof RpcTooLong) && this.#sources.length > 1) {
          source.restsUntil = performance.now() + REST_MS;
        }
        const pause = this.#sources.length > 1 && tries < this.#sources.length ? 0 : pauses[tries];
        const isOver = pause === undefined || end.comesWithin(pause);
        if (once || pauses.length === 0 || isOver) throw error;
        if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }
}

/** Block of a node that did not answer, not with a height, or is of another chain. */
const SILENT = Number.NEGATIVE_INFINITY;
type Look = { isOfOtherChain: boolean | null; block: number };

/** Asks a node for its chain and its newest block; its chain is null if it does not answer. */
async function lookAt({ rpc }: Source, chainId: number): Promise<Look> {
  try {
    const [id, block] = await Promise.all([
      rpc.request<string>("eth_chainId", [], COMPARE_MS),
      rpc.request<string>("eth_blockNumber", [], COMPARE_MS),
    ]);
    const isOfOtherChain = Number(id) !== chainId;
    const height = Number(block);
    // A height that is no number would compare with nothing, and every node would count as current.
    const isHeight = Number.isSafeInteger(height) && height >= 0;
    return { isOfOtherChain, block: isOfOtherChain || !isHeight ? SILENT : height };
  } catch {
    return { isOfOtherChain: null, block: SILENT };
  }
}

/** The hash that most nodes have; of several such, the first node's. */
function commonest(hashes: readonly (string | null)[]): string | null {
  const count = (hash: string): number => hashes.filter((one) => one === hash).length;
  const told = hashes.filter((hash) => hash !== null);
  return told.reduce<string | null>((most, hash) => (most === null || count(hash) > count(most) ? hash : most), null);
}

/** Pauses before the next tries; none for an error that would come again. */
function pausesAfter(error: unknown, name: string): readonly number[] {
  if (error instanceof RpcTooLong || error instanceof BatchRefused) return [];
  if (error instanceof RpcLimited) return LIMITED_MS;
  if (error instanceof RpcUnreachable) return UNANSWERED_MS;
  return error instanceof RpcError && canPass(error, name) ? LIMITED_MS : [];
}

/** True if the node may answer otherwise in a moment. For `eth_getLogs` these codes say that there are too many logs. */
const canPass = ({ code, data }: RpcError, method: string): boolean =>
  PASSING_CODES.has(code) && !String(data).startsWith("0x") && method !== "eth_getLogs";

/** A call's answer, with what the node refuses. */
async function asAnswer(asked: Promise<unknown>): Promise<Answer> {
  try {
    return { result: await asked };
  } catch (error) {
    if (error instanceof RpcError) return { error };
    throw error;
  }
}

/** The answers of one node to several calls. A batch that it refuses, or drops, is asked in halves, and the node's limit is remembered. */
async function answersOf(source: Source, calls: readonly Call[], end: Deadline): Promise<Answer[]> {
  if (performance.now() - source.refusedAt > BATCH_AGAIN_MS) source.mostCalls = Number.POSITIVE_INFINITY;
  const answers: Answer[] = [];
  while (answers.length < calls.length) {
    const some = calls.slice(answers.length, answers.length + source.mostCalls);
    try {
      answers.push(...(await answersTo(source, some, end.left)));
    } catch (error) {
      if (some.length === 1 || error instanceof RpcTooLong || error instanceof RpcLimited) throw error;
      if (!(error instanceof RpcUnreachable) || end.comesWithin(0)) throw error;
      // A node that drops the connection may be away: one that answers a single call has refused the batch.
      if (!(error instanceof BatchRefused)) answers.push(...(await answersTo(source, some.slice(0, 1), end.left)));
      source.mostCalls = Math.ceil(some.length / 2);
      source.refusedAt = performance.now();
    }
  }
  return answers;
}

/** Asks a single call without a batch: not every node takes them. */
async function answersTo({ rpc }: Source, calls: readonly Call[], timeoutMs: number): Promise<Answer[]> {
  const [only, ...others] = calls;
  if (only === undefined || others.length > 0) return rpc.answers(calls, timeoutMs);
  return [await asAnswer(rpc.request(only.method, only.params, timeoutMs))];
}

/** viem's way to the nodes. What is asked again and how is said above, so viem asks once. */
export function transportOf(node: Pick<ChainNode, "request">, timeoutMs = 10_000): CustomTransport {
  return custom(
    {
      request: ({ method, params }: { method: string; params?: readonly unknown[] }) =>
        node.request(method, params ?? [], timeoutMs),
    },
    { retryCount: 0 },
  );
}
