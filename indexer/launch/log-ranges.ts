/**
 * Ranges of eth_getLogs that the node takes. Providers limit blocks or results of one call, each in other words and codes; Ponder knows some of
 * them, and gives up at the others. Here any refusal halves the range, and what the node takes is remembered.
 */

type Filter = { fromBlock?: string; toBlock?: string };
type Body = { id?: unknown; method?: string; params?: [Filter] };
type Reply = { result?: unknown[]; error?: unknown };

/** Pieces of one range that are asked for at once. */
const AT_ONCE = 4;
/** A size that was refused is tried again after so long: results may have been what was limited, and other blocks have fewer. */
const AGAIN_MS = 60_000;
/** Answers that say nothing of the range: Ponder waits, and asks again. */
const passesOn = (status: number): boolean => status === 429 || status >= 500;

/** How many blocks are asked for at once: at most the setting, and less than was last refused. */
export class LogSpan {
  readonly #largest: number;
  #span: number;
  #refused = Number.POSITIVE_INFINITY;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(largest: number) {
    this.#largest = largest;
    this.#span = largest;
  }

  get blocks(): number {
    return this.#span;
  }

  /** So many blocks were refused. */
  refused(blocks: number, now = performance.now()): void {
    this.#refused = Math.min(this.#refused, blocks);
    this.#refusedAt = now;
    this.#span = Math.min(this.#span, Math.max(1, Math.floor(blocks / 2)));
  }

  /** So many blocks were answered. */
  taken(blocks: number, now = performance.now()): void {
    if (now - this.#refusedAt > AGAIN_MS) this.#refused = Number.POSITIVE_INFINITY;
    if (blocks >= this.#span) this.#span = Math.min(this.#largest, this.#refused - 1, blocks + Math.ceil(blocks / 4));
  }
}

/** A `fetch` that asks the node at `url` for logs in ranges that it takes, `largest` blocks at most; everything else as `ask` does. */
export function withLogRanges(url: string, largest: number, ask: typeof fetch): typeof fetch {
  const node = new URL(url).href;
  const span = new LogSpan(largest);
  return async (input, init) => {
    if (!(input instanceof Request) || input.url !== node || input.method !== "POST") return ask(input, init);
    const text = await input.clone().text();
    const body = text.includes('"eth_getLogs"') ? (JSON.parse(text) as Body) : {};
    const [filter] = body.params ?? [];
    const [from, to] = [Number(filter?.fromBlock), Number(filter?.toBlock)];
    if (body.method !== "eth_getLogs" || !Number.isInteger(from) || !Number.isInteger(to)) return ask(input, init);
    const { headers, signal } = input;
    const piece = (first: number, last: number) => {
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
      pieces.map(async ({ first, last }) => ({ first, last, found: await logsOf(await ask(first, last)) })),
    );
    atOnce = AT_ONCE;
    for (const { first, last, found } of answers) {
      const blocks = last - first + 1;
      if (found instanceof Response && (blocks === 1 || passesOn(found.status))) return found;
      if (found instanceof Response) {
        span.refused(blocks);
        break;
      }
      span.taken(blocks);
      logs.push(...found);
      next = last + 1;
    }
  }
  return logs;
}

/** The logs in an answer; the answer itself where there are none. */
async function logsOf(response: Response): Promise<unknown[] | Response> {
  const text = await response.text();
  const same = () => new Response(text, { status: response.status, headers: { "content-type": "application/json" } });
  try {
    const { result } = JSON.parse(text) as Reply;
    return Array.isArray(result) ? result : same();
  } catch {
    return same();
  }
}

const hex = (number: number): string => `0x${number.toString(16)}`;
