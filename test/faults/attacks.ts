/**
 * One attacker, as a process of its own (`attackers.ts` starts it): repeats one attack at its rate until its standard input ends, then says how
 * often each answer came. It comes from twenty addresses of the loopback network, so that limits by address do not meet honest clients.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { type Hex, serializeErc6492Signature } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { chat } from "../support/api-client.ts";
import type { Stack } from "../support/stack.ts";
import { WebClient } from "../web/support/web-client.ts";
import { PlayedWorker } from "../worker/support/played-worker.ts";
import { POISON_KINDS, poisonOf } from "../worker/support/poison.ts";

/** What an attacker knows. `servedModel` has a model server behind its workers, `model` generators. The contract at `looper` never ends; the worker `withholder` is registered and not started. */
export type Target = {
  stack: Pick<Stack, "info" | "workers">;
  model: string;
  servedModel: string;
  apiKeys: string[];
  /** Key of a wallet without credits. */
  poorKey: string;
  looper: Hex;
  withholder: number;
};

/** `most` shots at a time, `perSecond` of all. A shot says what came of it. `on`: the model that honest clients ask beside it. */
type Attack = {
  what: string;
  perSecond: number;
  most: number;
  on?: "servedModel";
  shot: (target: Target, n: number) => Promise<string>;
};

const ADDRESSES = 20;
/** Longer than the service lets a request take to arrive. */
const HOLD_MS = 70_000;
const agents = Array.from(
  { length: ADDRESSES },
  (_, n) => new Agent({ localAddress: `127.0.0.${n + 2}`, connections: 50 }),
);
const of = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

type Sent = { path: string; body?: unknown; apiKey?: string; headers?: Record<string, string> };

async function send({ stack }: Target, n: number, { path, body, apiKey, headers }: Sent) {
  const response = await request(`${stack.info.base_url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    dispatcher: of(agents, n),
    headersTimeout: 200_000,
    bodyTimeout: 200_000,
  });
  const text = await response.body.text();
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return { text, headers: response.headers, said: code === undefined ? String(response.statusCode) : code };
}

/** Opens a connection, writes this, and keeps it open until the other side closes it. */
async function hold(port: number, n: number, bytes: (string | Buffer)[]): Promise<string> {
  const localAddress = `127.0.0.${(n % ADDRESSES) + 2}`;
  const socket = connect({ port, host: "127.0.0.1", localAddress, allowHalfOpen: true }).resume();
  const closed = once(socket, "close").then(
    () => "closed",
    (error) => String(error.code),
  );
  for (const piece of bytes) socket.write(piece);
  const result = await Promise.race([closed, sleep(HOLD_MS, "kept", { ref: false })]);
  socket.destroy();
  return result;
}

const body = (size: number) => Buffer.alloc(size - 1, "a");
const head = (path: string, length: number, apiKey?: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n` +
  `${apiKey === undefined ? "" : `authorization: Bearer ${apiKey}\r\n`}\r\n`;

const MIB = 1024 * 1024;
const [WORKER_BODY, GATEWAY_BODY] = [body(8 * MIB), body(4 * MIB)];
const randomText = () => randomBytes(150_000).toString("base64").slice(0, 199_999);
let longBody: string | undefined;
let withholding: Promise<PlayedWorker> | undefined;

/** Takes every job, proves a hash of nothing on chain and hangs up. Whoever asks for the output gets nothing. */
async function withhold({ stack, withholder }: Target): Promise<PlayedWorker> {
  const worker = await PlayedWorker.start(stack, withholder);
  // One proof after the other: they are transactions of one account.
  let proven = Promise.resolve();
  worker.play(
    async (offer, response) => {
      const prove = async () => void (await worker.prove(offer, "nobody ever sees this"));
      if (offer.request !== undefined) proven = proven.then(prove).catch((error) => console.error(error.shortMessage));
      await proven;
      response.destroy();
    },
    { raw: true, once: true },
  );
  return worker;
}

export const ATTACKS: Record<string, Attack> = {
  "empty answers": {
    what: "a stop sequence for every first letter",
    perSecond: 10,
    most: 20,
    shot: async (target, n) => {
      const stop = ["T", "I", "S", "M", "O", "C", "W", "N", "A"];
      const asked = chat(target.model, "Hello", { stop, max_tokens: 20 });
      return (await send(target, n, { path: "/v1/chat/completions", body: asked, apiKey: of(target.apiKeys, n) })).said;
    },
  },
  "answers past the deadline": {
    what: "`max_tokens` 30,000 at 60 tokens a second",
    perSecond: 2,
    most: 40,
    shot: async (target, n) => {
      const asked = chat(target.model, "Write. [[tokens:30000]]", { max_tokens: 30_000, stream: true });
      return (await send(target, n, { path: "/v1/chat/completions", body: asked, apiKey: of(target.apiKeys, n) })).said;
    },
  },
  "long random prompts": {
    what: "19 messages of 199,999 random characters, with and without credits",
    perSecond: 5,
    most: 10,
    shot: async (target, n) => {
      const messages = () => Array.from({ length: 19 }, () => ({ role: "user", content: randomText() }));
      longBody ??= JSON.stringify({ model: target.model, messages: messages() });
      const apiKey = n % 2 === 0 ? target.poorKey : of(target.apiKeys, n);
      return (await send(target, n, { path: "/v1/chat/completions", body: longBody, apiKey })).said;
    },
  },
  "unfinished bodies": {
    what: "all but one byte of 8 MiB at a worker, of 4 MiB at the gateway, kept open",
    perSecond: 10,
    most: 450,
    shot: async ({ stack, apiKeys }, n) => {
      const worker = stack.workers[0]?.port as number;
      if (n % 2 === 0) return await hold(worker, n, [head("/jobs", 8 * MIB), WORKER_BODY]);
      const gateway = Number(new URL(stack.info.base_url).port);
      return await hold(gateway, n, [head("/v1/chat/completions", 4 * MIB, of(apiKeys, n)), GATEWAY_BODY]);
    },
  },
  "half-closed connections": {
    what: "headers that never end; the client keeps its side open",
    perSecond: 50,
    most: 1_000,
    shot: async ({ stack }, n) =>
      await hold(Number(new URL(stack.info.base_url).port), n, ["GET /healthz HTTP/1.1\r\nHost: x\r\n"]),
  },
  "looping sign-in": {
    what: "ERC-6492 signatures whose factory loops, a new nonce each",
    perSecond: 20,
    most: 40,
    shot: async (target, n) => {
      const client = new WebClient(target.stack);
      const headers = { origin: client.origin, "x-requested-by": "web" };
      const issued = await send(target, n, { path: "/app/api/nonce", body: "{}", headers });
      const { nonce } = JSON.parse(issued.text);
      if (nonce === undefined) return issued.said;
      // An address without code: the factory is asked to make the wallet.
      const account = privateKeyToAccount(`0x${randomBytes(32).toString("hex")}`);
      const message = await client.message(account, { nonce });
      const signature = serializeErc6492Signature({ address: target.looper, data: "0x", signature: "0x00" });
      return (await send(target, n, { path: "/app/api/session", body: { message, signature }, headers })).said;
    },
  },
  "disputes with random hashes": {
    what: "a request and a dispute with a random hash, in turns",
    perSecond: 5,
    most: 20,
    shot: async (target, n) => {
      const apiKey = of(target.apiKeys, n);
      const asked = chat(target.model, "Hello", { max_tokens: 1 });
      const answer = await send(target, n, { path: "/v1/chat/completions", body: asked, apiKey });
      const hash = { received_output_hash: `sha256:${randomBytes(32).toString("hex")}` };
      const path = `/v1/jobs/${answer.headers["x-service-job-id"]}/dispute`;
      return (await send(target, n, { path, body: hash, apiKey })).said;
    },
  },
  poison: {
    what: "ten kinds of requests that make the model server fail, in turns",
    perSecond: 5,
    most: 20,
    on: "servedModel",
    shot: async (target, n) => {
      const kind = of(POISON_KINDS, n);
      const body = chat(target.servedModel, poisonOf(kind), { max_tokens: 12 });
      return (await send(target, n, { path: "/v1/chat/completions", body, apiKey: of(target.apiKeys, n) })).said;
    },
  },
  "/readyz": {
    what: "from twenty addresses",
    perSecond: 500,
    most: 100,
    shot: async (target, n) => (await send(target, n, { path: "/readyz" })).said,
  },
  // The last one: what it holds stays held.
  "a worker that withholds": {
    what: "acknowledges, proves a hash on chain, hangs up",
    perSecond: 1,
    most: 1,
    shot: async (target) => {
      withholding ??= withhold(target);
      const worker = await withholding;
      const taken = worker.offers.filter(({ request: asked }) => asked !== undefined).length;
      worker.offers.length = 0;
      return taken > 0 ? "took jobs" : "was offered nothing";
    },
  },
};

async function attack({ most, perSecond, shot }: Attack, target: Target, stopped: AbortSignal): Promise<void> {
  const answers: Record<string, number> = {};
  let [running, n] = [0, 0];
  const one = async (number: number) => {
    const said = await shot(target, number).catch((error) => String(error.code ?? error.message));
    answers[said] = (answers[said] ?? 0) + 1;
    running -= 1;
  };
  const begun = performance.now();
  while (!stopped.aborted) {
    const due = ((performance.now() - begun) / 1000) * perSecond;
    for (; n < due && running < most; n++, running++) void one(n);
    if (running >= most) n = Math.max(n, Math.floor(due));
    await sleep(Math.max(5, 1000 / perSecond));
  }
  if (running > 0) answers["open at the end"] = running;
  process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit(0));
}

if (import.meta.main) {
  const [name, target] = process.argv.slice(2) as [string, string];
  const stopped = new AbortController();
  process.stdin.on("end", () => stopped.abort()).resume();
  await attack(ATTACKS[name] as Attack, JSON.parse(target), stopped.signal);
}
