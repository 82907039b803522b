/**
 * One attack after the other beside ten honest clients with the stock OpenAI SDK. Honest clients are measured alone first, with the model that they
 * ask beside the attack. Under each attack their 99th percentile must stay under three times that one, and none of their requests may fail after the
 * SDK's own retries. An attacker is a process of
 * its own with the lowest priority and a bounded rate (`attacks.ts`): the test is of the service, not of the processor that both share.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { privateKeyToAccount } from "viem/accounts";
import { rpc } from "../../scripts/dev/chain.ts";
import { type Note, type Outcome, scenario } from "../scenarios/scenario.ts";
import { Client, openStore } from "../support/client.ts";
import { giveGas } from "../support/gas.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { startPoisonedServer } from "../worker/support/poison.ts";
import { ATTACKS, type Target } from "./attacks.ts";
import { keepLogs } from "./keep-logs.ts";

const MODEL = "qwen3-8b";
/** Two workers have a model server for it. */
const SERVED_MODEL = "qwen3-14b";
const HONEST = 10;
const ATTACKERS = 5;
const CREDITS = 200_000;
const MOST_RATIO = 3;
/** Between two requests of an honest client. */
const PAUSE_MS = 300;
/** After an attack, before the next one. */
const CALM_MS = 5_000;
/** Nobody counts what the first requests of new processes take. */
const WARM_UP_SECONDS = 10;
const WITHHOLDER = 3;
const LOOPER = `0x${"10".repeat(20)}` as const;

/** What the honest clients saw, and how much memory the gateway took. */
type Seen = { requests: number; p50: number; p99: number; failures: string[]; gatewayMb: number };

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
  await Promise.all(clients.map((client, n) => one(client, n % 2 === 0)));
  clearInterval(memory);
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.ceil(times.length * share) - 1] ?? Number.NaN);
  return { requests: times.length, p50: at(0.5), p99: at(0.99), failures, gatewayMb };
}

function memoryOf(stack: TestStack, part: string): number {
  const pid = stack.processes().find(({ name }) => name === part)?.pid;
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(resident) / 1024);
}

/** Starts an attacker. The returned function stops it and says which answers it got. */
function startAttacker(name: string, target: Target): () => Promise<Record<string, number>> {
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
  return async () => {
    attacker.stdin.end();
    await Promise.race([ended, sleep(10_000)]);
    attacker.kill("SIGKILL");
    return said === "" ? {} : JSON.parse(said);
  };
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
    workers: [{ models: [MODEL] }, { models: [MODEL] }, { models: [MODEL], start: false }, served, served],
    // Long answers meet their deadline within a minute; jobs that are proven stay held for the rest of the run.
    windows: { completion: 40, finalization: 3_600 },
    env: { api: { LOG_LEVEL: "warn" }, workers: { WORKER_FIRST_TOKEN_MS: "20", WORKER_TOKENS_PER_SECOND: "60" } },
  });
  const stopKeeping = keep === "" ? () => {} : keepLogs(join(stack.options.dataDir, "logs"), keep);
  const pool = openStore(stack);
  const rows: NonNullable<Outcome["rows"]>[number][] = [];
  const problems: string[] = [];
  try {
    const clients: Client[] = [];
    for (let n = 0; n < HONEST + ATTACKERS; n++) clients.push(await Client.funded(stack, pool, CREDITS));
    const poor = await Client.create(stack, pool, 0);
    // JUMPDEST PUSH1 0 JUMP
    await rpc(stack.info.rpc_url, "anvil_setCode", [LOOPER, "0x5b600056"]);
    const withholder = stack.workers[WITHHOLDER - 1]?.privateKey as `0x${string}`;
    await giveGas(stack, privateKeyToAccount(withholder).address, "10");
    const target: Target = {
      stack: { info: stack.info, workers: stack.workers },
      model: MODEL,
      servedModel: SERVED_MODEL,
      apiKeys: clients.slice(HONEST).map(({ apiKey }) => apiKey),
      poorKey: poor.apiKey,
      looper: LOOPER,
      withholder: WITHHOLDER,
    };
    const good = clients.slice(0, HONEST);
    const row = (attack: string, { requests, p50, p99, failures, gatewayMb }: Seen, quiet: Seen, attacker: string) =>
      void rows.push({
        attack,
        "honest requests": requests,
        "p50, ms": p50,
        "p99, ms": p99,
        ratio: Number((p99 / quiet.p99).toFixed(2)),
        failures: failures.length,
        "gateway, MB": gatewayMb,
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
      const stop = startAttacker(name, target);
      await sleep(3_000);
      const seen = await honest(stack, good, target[on], seconds);
      const got = await stop();
      const answers = Object.entries(got).sort(([, a], [, b]) => b - a);
      row(title, seen, quiet, answers.map(([answer, count]) => `${count} × ${answer}`).join(", "));
      for (const failure of new Set(seen.failures)) note(`an honest client failed: ${failure}`);
      if (seen.p99 >= MOST_RATIO * quiet.p99)
        problems.push(`${name}: honest clients waited ${MOST_RATIO} times as long`);
      if (seen.failures.length > 0) problems.push(`${name}: ${seen.failures.length} requests of honest clients failed`);
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
