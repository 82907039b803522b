/** Attacks on the gateway's API: bodies, connections, chat requests, disputes. */
import { randomBytes } from "node:crypto";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { privateKeyToAccount } from "viem/accounts";
import { chat } from "../../support/api-client.ts";
import { signAuthorization } from "../../support/authorization.ts";
import { type Attack, hold, of, send } from "./attack.ts";

const body = (size: number) => Buffer.alloc(size - 1, "a");
const head = (path: string, length: number, apiKey?: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n` +
  `${apiKey === undefined ? "" : `authorization: Bearer ${apiKey}\r\n`}\r\n`;

const MIB = 1024 * 1024;
const [WORKER_BODY, GATEWAY_BODY] = [body(8 * MIB), body(4 * MIB)];
const randomText = () => randomBytes(150_000).toString("base64").slice(0, 199_999);
const COMPRESSIONS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
/** A run of spaces, and one of zeros: no tokenizer has words for them. */
const SLOW_TEXT = " ".repeat(1_600_000) + "0".repeat(400_000);
let longBody: string | undefined;
let compressed: { encoding: string; bytes: Buffer }[];

export const ON_GATEWAY: Record<string, Attack> = {
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
  "prompts slow to count": {
    what: "1.6 million spaces and 400,000 zeros, of six wallets",
    perSecond: 5,
    most: 12,
    shot: async (target, n) => {
      const body = chat(target.longModel, SLOW_TEXT, { max_tokens: 1 });
      return (await send(target, n, { path: "/v1/chat/completions", body, apiKey: of(target.apiKeys, n) })).said;
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
  "compressed bodies": {
    what: "4 MiB in some bytes of gzip, deflate or brotli, without credits; every ten seconds 128 at once",
    perSecond: 5,
    most: 20,
    prepare: async () => {
      const compress = ([encoding, one]: [string, typeof gzipSync]) => ({ encoding, bytes: one(GATEWAY_BODY) });
      compressed = Object.entries(COMPRESSIONS).map(compress);
    },
    shot: async (target, n) => {
      const { encoding, bytes } = of(compressed, n);
      const headers = { "content-encoding": encoding };
      const one = { path: "/v1/chat/completions", body: bytes, apiKey: target.poorKey, headers };
      const sent = Array.from({ length: n % 50 === 0 ? 128 : 1 }, (_, k) => send(target, n + k, one));
      return of(await Promise.all(sent), 0).said;
    },
  },
  "half-closed connections": {
    what: "headers that never end; the client keeps its side open",
    perSecond: 50,
    most: 1_000,
    shot: async ({ stack }, n) =>
      await hold(Number(new URL(stack.info.base_url).port), n, ["GET /healthz HTTP/1.1\r\nHost: x\r\n"]),
  },
  "authorizations that expire": {
    what: "signed for one second",
    perSecond: 5,
    most: 20,
    shot: async (target, n) => {
      const { wallet, apiKey, privateKey, modelNumber } = target.signing;
      const body = JSON.stringify(chat(target.model, "Hello", { max_tokens: 12 }));
      const expiresAt = Math.floor(Date.now() / 1_000) + 1;
      const header = await signAuthorization(target.stack, privateKeyToAccount(privateKey), body, {
        wallet,
        model: modelNumber,
        expiresAt,
      });
      const headers = { "x-service-authorization": header };
      return (await send(target, n, { path: "/v1/chat/completions", body, apiKey, headers })).said;
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
  "/readyz": {
    what: "from twenty addresses",
    perSecond: 500,
    most: 100,
    shot: async (target, n) => (await send(target, n, { path: "/readyz" })).said,
  },
  "long unknown paths": {
    what: "15,000 characters, at three places",
    perSecond: 50,
    most: 100,
    shot: async (target, n) =>
      (await send(target, n, { path: of(["/", "/v1/", "/app/"], n) + "a".repeat(15_000) })).said,
  },
};
