/**
 * Ranges of eth_getLogs that the node takes. Providers limit blocks or results of one call, each in other words and codes; Ponder knows some of
 * them, and gives up at the others. Here any refusal halves the range, and what the node takes is remembered.
 */
import { LogSpan } from "../../shared/log-span.ts";

type Filter = { fromBlock?: string; toBlock?: string };
type Body = { id?: unknown; method?: string; params?: [Filter] };
type Reply = { result?: unknown[]; error?: unknown };

/** Pieces of one range that are asked for at once. */
const AT_ONCE = 4;
/** A piece of several blocks that takes longer is asked for again in smaller ones: Ponder gives the whole range 10 s. */
const PIECE_MS = 3_000;

/** A `fetch` that asks the node at `url` for logs in ranges that it takes, `largest` blocks at most; everything else as `ask` does. */
export function withLogRanges(url: string, largest: number, ask: typeof fetch, pieceMs = PIECE_MS): typeof fetch {
  const node = new URL(url).href;
  const span = new LogSpan(largest);
  return async (input, init) => {
    if (!(input instanceof Request) || input.url !== node || input.method !== "POST") return ask(input, init);
    const text = await input.clone().text();
    const body = text.includes('"eth_getLogs"') ? (JSON.parse(text) as Body) : {};
    const [filter] = body.params ?? [];
    const [from, to] = [Number(filter?.fromBlock), Number(filter?.toBlock)];
    if (body.method !== "eth_getLogs" || !Number.isInteger(from) || !Number.isInteger(to)) return ask(input, init);
    const { headers } = input;
    const stops: AbortController[] = [];
    input.signal.addEventListener("abort", () => {
      for (const stop of stops) stop.abort(input.signal.reason);
    });
    const piece = (first: number, last: number) => {
      // Ponder does not wait any more.
      input.signal.throwIfAborted();
      const stop = new AbortController();
      const { signal } = stop;
      stops.push(stop);
      if (last > first) setTimeout(() => stop.abort(new Error(`no logs within ${pieceMs} ms`)), pieceMs).unref();
      const range = { ...filter, fromBlock: hex(first), toBlock: hex(last) };
      return ask(
        new Request(node, { method: "POST", headers, signal, body: JSON.stringify({ ...body, params: [range] }) }),
      );
    };
    const logs = await inPieces({ from, to }, span, piece);
    return logs instanceof Response ? logs : Response.json({ jsonrpc: "2.0", id: body.id, result: logs });
  };
}

/** The logs of a range, or the answer that says why there are none. */
async function inPieces(
  { from, to }: { from: number; to: number },
  span: LogSpan,
  ask: (first: number, last: number) => Promise<Response>,
): Promise<unknown[] | Response> {
  const logs: unknown[] = [];
  // The first piece shows what the node takes; then several go out at once.
  let atOnce = 1;
  for (let next = from; next <= to; ) {
    const pieces: { first: number; last: number }[] = [];
    for (let first = next; first <= to && pieces.length < atOnce; first += span.blocks) {
      pieces.push({ first, last: Math.min(to, first + span.blocks - 1) });
    }
    const answers = await Promise.all(
      pieces.map(async ({ first, last }) => ({ first, last, found: await logsOf(ask(first, last)) })),
    );
    atOnce = AT_ONCE;
    for (const { first, last, found } of answers) {
      const blocks = last - first + 1;
      if (!Array.isArray(found)) {
        const isOfRange = blocks > 1 && (isRefusal(found) || (isUnclear(found) && (await hasBlock(first, ask))));
        if (isOfRange) {
          span.refused(blocks);
          break;
        }
        if (found instanceof Response) return found;
        throw found.error;
      }
      span.taken(blocks);
      logs.push(...found);
      next = last + 1;
    }
  }
  return logs;
}

/** Why there are no logs: the node's answer, or that there was none. */
type Failure = Response | { error: unknown };

/** The node says no to the range. */
const isRefusal = (failure: Failure): boolean =>
  failure instanceof Response && failure.status !== 429 && failure.status < 500;

/** The range may be too much for the node, or the node is away. With 429 it says nothing of the range: Ponder waits, and asks again. */
const isUnclear = (failure: Failure): boolean => !(failure instanceof Response) || failure.status >= 500;

/** True if the node answers for one block: then the longer range was too much for it. */
async function hasBlock(block: number, ask: (first: number, last: number) => Promise<Response>): Promise<boolean> {
  return Array.isArray(await logsOf(ask(block, block)));
}

/** The logs in an answer, or why there are none. */
async function logsOf(asked: Promise<Response>): Promise<unknown[] | Failure> {
  let response: Response;
  let text: string;
  try {
    response = await asked;
    text = await response.text();
  } catch (error) {
    return { error };
  }
  const same = () => new Response(text, { status: response.status, headers: { "content-type": "application/json" } });
  try {
    const { result } = JSON.parse(text) as Reply;
    return Array.isArray(result) ? result : same();
  } catch {
    return same();
  }
}

const hex = (number: number): string => `0x${number.toString(16)}`;
