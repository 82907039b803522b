/**
 * What all attacks share: what an attacker knows, and how it sends. It comes from twenty addresses of the loopback network, so that limits by address do
 * not meet honest clients.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import type { Hex } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { Stack } from "../../support/stack.ts";
import { WebClient } from "../../web/support/web-client.ts";

/**
 * What an attacker knows. `servedModel` has a model server behind its workers, `model` and `longModel` have generators. Of them `longModel` has the
 * largest window. The contract at `looper` never ends. The workers `withholder` and `hostile` are registered and not started. Only `hostile` have
 * `hostileModel`.
 */
export type Target = {
  stack: Pick<Stack, "info" | "workers">;
  model: string;
  servedModel: string;
  longModel: string;
  hostileModel: string;
  /** Keys of wallets with credits, and sessions of the same wallets: cookies. */
  apiKeys: string[];
  cookies: string[];
  /** Key of a wallet without credits. */
  poorKey: string;
  /** A wallet with credits whose authorization key must sign for each job. `modelNumber`: of `model`, in the catalog. */
  signing: { wallet: Hex; apiKey: string; privateKey: Hex; modelNumber: number };
  looper: Hex;
  /** A transaction with a megabyte of logs. */
  loudTransaction: Hex;
  withholder: number;
  hostile: number[];
};

/**
 * `most` shots at a time, `perSecond` of all. A shot says what came of it. `prepare` is done before the first one. `on`: the model that honest clients
 * ask beside it.
 */
export type Attack = {
  what: string;
  perSecond: number;
  most: number;
  on?: "servedModel";
  prepare?: (target: Target) => Promise<void>;
  shot: (target: Target, n: number) => Promise<string>;
};

const ADDRESSES = 20;
/** Longer than the service lets a request take to arrive. */
const HOLD_MS = 70_000;
const agents = Array.from(
  { length: ADDRESSES },
  (_, n) => new Agent({ localAddress: `127.0.0.${n + 2}`, connections: 50 }),
);
export const of = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

type Sent = { path: string; body?: unknown; apiKey?: string; headers?: Record<string, string> };

export async function send({ stack }: Target, n: number, { path, body, apiKey, headers }: Sent) {
  const response = await request(`${stack.info.base_url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === "string" || body instanceof Buffer ? body : JSON.stringify(body) }),
    dispatcher: of(agents, n),
    headersTimeout: 200_000,
    bodyTimeout: 200_000,
  });
  const text = await response.body.text();
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return { text, headers: response.headers, said: code === undefined ? String(response.statusCode) : code };
}

/** Opens a connection, writes this, and keeps it open until the other side closes it. */
export async function hold(port: number, n: number, bytes: (string | Buffer)[]): Promise<string> {
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

/** Sends what the application's own scripts send: a change with a body, else a read. */
export const sendWeb = (
  target: Target,
  n: number,
  { path, body, cookie }: { path: string; body?: unknown; cookie?: string | undefined },
) => {
  const headers = {
    origin: new URL(target.stack.info.app_url).origin,
    "x-requested-by": "web",
    ...(cookie && { cookie }),
  };
  return send(target, n, { path: `/app/api${path}`, body, headers });
};

/** Signs in with a fresh account; answers as the service does. */
export async function signIn(
  target: Target,
  n: number,
  sign: (account: PrivateKeyAccount, message: string) => Hex | Promise<Hex>,
) {
  const issued = await sendWeb(target, n, { path: "/nonce", body: {} });
  const { nonce } = JSON.parse(issued.text);
  if (nonce === undefined) return issued;
  const account = privateKeyToAccount(`0x${randomBytes(32).toString("hex")}`);
  const message = await new WebClient(target.stack).message(account, { nonce });
  const signature = await sign(account, message);
  return await sendWeb(target, n, { path: "/session", body: { message, signature } });
}
