/**
 * One attack after the other beside ten honest clients with the stock OpenAI SDK. Honest clients are measured alone first, with the model that they
 * ask beside the attack. Under each attack their 99th percentile must stay under three times that one, none of their requests may fail after the
 * SDK's own retries, and the gateway's memory must stay below the alert's limit. An attacker is a process of its own with the lowest priority and
 * a bounded rate (`attacks.ts`): the test is of the service, not of the processor that both share.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { createPublicClient, createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { LAUNCH_MODELS } from "../../scripts/deploy/launch-models.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { type Note, type Outcome, scenario } from "../scenarios/scenario.ts";
import { Client, openStore } from "../support/client.ts";
import { giveGas, richAccount } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { WebClient } from "../web/support/web-client.ts";
import { startPoisonedServer } from "../worker/support/poison.ts";
import type { Target } from "./attacks/attack.ts";
import { ATTACKS, BEGINS } from "./attacks.ts";
import { keepLogs } from "./keep-logs.ts";

const MODEL = "qwen3-8b";
/** Two workers have a model server for it. */
const SERVED_MODEL = "qwen3-14b";
/** Of the largest window, at the first worker. */
const LONG_MODEL = "llama-3.2-3b-instruct";
/** Only the hostile workers have it. */
const HOSTILE_MODEL = "mistral-7b-instruct-v0.3";
const HONEST = 10;
const ATTACKERS = 6;
const CREDITS = 200_000;
const MOST_RATIO = 3;
/** Of the alert `MemoryGrows` in deploy/prometheus/alerts.yaml. */
const MOST_MB = 1_500;
/** Between two requests of an honest client. */
const PAUSE_MS = 300;
/** After an attack, before the next one. */
const CALM_MS = 5_000;
/** Nobody counts what the first requests of new processes take. */
const WARM_UP_SECONDS = 10;
const WITHHOLDER = 3;
const HOSTILE = [6, 7, 8];
const LOOPER = `0x${"10".repeat(20)}` as const;
/** Init code that logs a megabyte: PUSH3 1000000 PUSH1 0 LOG0 STOP. */
const LOUD = "0x620f42406000a000";

/** What the honest clients saw, how much memory the gateway took, and how many of its operations the chain reverted. */
type Seen = { requests: number; p50: number; p99: number; failures: string[]; gatewayMb: number; reverts: number };

async function honest(stack: TestStack, clients: readonly Client[], model: string, forSeconds: number): Promise<Seen> {
  const until = Date.now() + forSeconds * 1000;
  const times: number[] = [];
  const failures: string[] = [];
  let gatewayMb = 0;
  const one = async ({ apiKey }: Client, stream: boolean) => {
    const sdk = new OpenAI({ baseURL: `${stack.info.base_url}/v1`, apiKey });
    const asked = { model, max_tokens: 12, messages: [{ role: "user" as const, content: "Tell me a story." }] };
    while (Date.now() < until) {
      const begun = performance.now();
      try {
        if (stream) for await (const _ of await sdk.chat.completions.create({ ...asked, stream }));
        else await sdk.chat.completions.create(asked);
      } catch (error) {
        failures.push(String(error));
      }
      times.push(performance.now() - begun);
      await sleep(PAUSE_MS);
    }
  };
  const memory = setInterval(() => {
    gatewayMb = Math.max(gatewayMb, memoryOf(stack, "api"));
  }, 1_000);
  const revertsBefore = await revertsOf(stack);
  await Promise.all(clients.map((client, n) => one(client, n % 2 === 0)));
  clearInterval(memory);
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.ceil(times.length * share) - 1] ?? Number.NaN);
  const reverts = (await revertsOf(stack)) - revertsBefore;
  return { requests: times.length, p50: at(0.5), p99: at(0.99), failures, gatewayMb, reverts };
}

function memoryOf(stack: TestStack, part: string): number {
  const pid = stack.processes().find(({ name }) => name === part)?.pid;
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(resident) / 1024);
}

/** Operations of the gateway that the chain reverted, since its start. */
async function revertsOf({ info }: TestStack): Promise<number> {
  const text = await (await fetch(`${info.base_url}/metrics`)).text();
  const counted = text.matchAll(/^gateway_operations_total\{.*outcome="(.+?)".*\} (\d+)$/gm);
  return [...counted].reduce((sum, [, outcome, count]) => sum + (outcome === "mined" ? 0 : Number(count)), 0);
}

/** Starts an attacker; resolves when its attack begins. The returned function stops it and says which answers it got. */
async function startAttacker(name: string, target: Target): Promise<() => Promise<Record<string, number>>> {
  const file = fileURLToPath(new URL("attacks.ts", import.meta.url));
  const attacker = spawn(process.execPath, [file, name, JSON.stringify(target)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  setPriority(attacker.pid as number, 19);
  let said = "";
  attacker.stdout.on("data", (data) => {
    said += data;
  });
  const ended = new Promise<void>((resolve) => attacker.once("exit", () => resolve()));
  await Promise.race([once(attacker.stdout, "data"), ended]);
  return async () => {
    attacker.stdin.end();
    await Promise.race([ended, sleep(10_000)]);
    attacker.kill("SIGKILL");
    const answers = said.slice(BEGINS.length);
    return answers === "" ? {} : JSON.parse(answers);
  };
}

/** Signs the client's wallet in at the web application. */
async function cookieOf(stack: TestStack, { account }: Client): Promise<string> {
  const web = new WebClient(stack);
  await web.signIn(account);
  return web.cookie as string;
}

/** Demands a signature for each job of the client's wallet. */
async function withAuthorizationKey(client: Client): Promise<Target["signing"]> {
  const privateKey = generatePrivateKey();
  await client.escrow("setAuthorizationKey", [privateKeyToAccount(privateKey).address]);
  const modelNumber = LAUNCH_MODELS.findIndex(({ id }) => id === MODEL) + 1;
  return { wallet: client.account.address, apiKey: client.apiKey, privateKey, modelNumber };
}

/** Sends the transaction with a megabyte of logs. */
async function sendLoud(stack: TestStack): Promise<Hex> {
  const transport = http(stack.info.rpc_url);
  const wallet = createWalletClient({ account: await richAccount(stack), transport });
  const hash = await wallet.sendTransaction({ data: LOUD, gas: 15_000_000n, chain: null });
  await mined(createPublicClient({ transport }), hash);
  return hash;
}

/** `seconds`: length of each attack. `only`: a regular expression of their names. `keep`: folder for the logs of all parts. */
export const attackers = scenario({
  name: "attackers",
  does: "one attack after the other beside honest clients",
  options: { seconds: 60, only: "", keep: "" },
  run: attack,
});

type Options = { seconds: number; only: string; keep: string };

async function attack({ seconds, only, keep }: Options, note: Note): Promise<Outcome> {
  const server = await startPoisonedServer([SERVED_MODEL]);
  const served = { models: [SERVED_MODEL], env: { WORKER_BACKEND: server.url } };
  const stack = await startTestStack({
    workers: [
      { models: [MODEL, LONG_MODEL] },
      { models: [MODEL] },
      { models: [MODEL], start: false },
      served,
      served,
      ...HOSTILE.map(() => ({ models: [HOSTILE_MODEL], start: false })),
    ],
    // Long answers meet their deadline within a minute; jobs that are proven stay held for the rest of the run.
    windows: { completion: 40, finalization: 3_600 },
    env: {
      // Hostile workers get jobs again after 1, 2, 4 … seconds.
      api: { LOG_LEVEL: "warn", MISCONDUCT_REST_SECONDS: "1" },
      workers: { WORKER_FIRST_TOKEN_MS: "20", WORKER_TOKENS_PER_SECOND: "60" },
    },
  });
  const stopKeeping = keep === "" ? () => {} : keepLogs(join(stack.options.dataDir, "logs"), keep);
  const pool = openStore(stack);
  const rows: NonNullable<Outcome["rows"]>[number][] = [];
  const problems: string[] = [];
  try {
    const clients: Client[] = [];
    for (let n = 0; n < HONEST + ATTACKERS; n++) clients.push(await Client.funded(stack, pool, CREDITS));
    const poor = await Client.create(stack, pool, 0);
    const bad = clients.slice(HONEST);
    // JUMPDEST PUSH1 0 JUMP
    await rpc(stack.info.rpc_url, "anvil_setCode", [LOOPER, "0x5b600056"]);
    const withholder = stack.workers[WITHHOLDER - 1]?.privateKey as `0x${string}`;
    await giveGas(stack, privateKeyToAccount(withholder).address, "10");
    const target: Target = {
      stack: { info: stack.info, workers: stack.workers },
      model: MODEL,
      servedModel: SERVED_MODEL,
      longModel: LONG_MODEL,
      hostileModel: HOSTILE_MODEL,
      apiKeys: bad.map(({ apiKey }) => apiKey),
      cookies: await Promise.all(bad.map((client) => cookieOf(stack, client))),
      poorKey: poor.apiKey,
      signing: await withAuthorizationKey(await Client.funded(stack, pool, CREDITS)),
      looper: LOOPER,
      loudTransaction: await sendLoud(stack),
      withholder: WITHHOLDER,
      hostile: HOSTILE,
    };
    const good = clients.slice(0, HONEST);
    const row = (attack: string, seen: Seen, quiet: Seen, attacker: string) =>
      void rows.push({
        attack,
        "honest requests": seen.requests,
        "p50, ms": seen.p50,
        "p99, ms": seen.p99,
        ratio: Number((seen.p99 / quiet.p99).toFixed(2)),
        failures: seen.failures.length,
        "gateway, MB": seen.gatewayMb,
        "reverted operations": seen.reverts,
        "what the attacker got": attacker,
      });
    const quietOnes = new Map<string, Seen>();
    /** The honest clients alone; measured once for each model. */
    const alone = async (model: string): Promise<Seen> => {
      const known = quietOnes.get(model);
      if (known !== undefined) return known;
      note(`the honest clients alone, with ${model}`);
      await honest(stack, good, model, WARM_UP_SECONDS);
      const quiet = await honest(stack, good, model, seconds);
      quietOnes.set(model, quiet);
      row(`none, ${model}`, quiet, quiet, "");
      if (quiet.failures.length > 0) problems.push(`alone, ${quiet.failures.length} requests of honest clients failed`);
      return quiet;
    };
    for (const [name, { what, perSecond, on = "model" }] of Object.entries(ATTACKS)) {
      if (!new RegExp(only).test(name)) continue;
      const quiet = await alone(target[on]);
      const title = `${name}: ${what}, ${perSecond} a second`;
      note(title);
      const stop = await startAttacker(name, target);
      const seen = await honest(stack, good, target[on], seconds);
      const got = await stop();
      const answers = Object.entries(got).sort(([, a], [, b]) => b - a);
      row(title, seen, quiet, answers.map(([answer, count]) => `${count} × ${answer}`).join(", "));
      for (const failure of new Set(seen.failures)) note(`an honest client failed: ${failure}`);
      if (seen.p99 >= MOST_RATIO * quiet.p99)
        problems.push(`${name}: honest clients waited ${MOST_RATIO} times as long`);
      if (seen.failures.length > 0) problems.push(`${name}: ${seen.failures.length} requests of honest clients failed`);
      if (seen.gatewayMb >= MOST_MB) problems.push(`${name}: the gateway took ${seen.gatewayMb} MB`);
      if (answers.length === 0) problems.push(`${name}: the attacker got no answer`);
      await sleep(CALM_MS);
    }
  } finally {
    await pool.end();
    await stack.stop();
    stopKeeping();
    await stack.remove();
    await server.stop();
  }
  return { problems, rows };
}
