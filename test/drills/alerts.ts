import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { freePort } from "../../scripts/dev/ports.ts";
import { query } from "../../scripts/dev/postgres.ts";
import { GATEWAY, OPERATOR } from "../../scripts/dev/wallets.ts";
import { EVENTS, MODEL } from "../faults/world.ts";
import { giveGas } from "../support/gas.ts";
import { Part, ROOT } from "../support/processes.ts";
import { answer } from "../support/receiver.ts";
import { SECOND_ADDRESS, SECOND_KEY } from "../support/second-gateway.ts";
import { temporaryDataDir } from "../support/stack.ts";
import { startWorker } from "../support/worker-process.ts";
import { event, PlayedWorker, type Script } from "../worker/support/played-worker.ts";
import { type Drill, type Practice, startGateway } from "./drill.ts";

/** Every window of the rules is shorter by this. */
const SPEED = 15;
/** A scrape of a gateway whose node is silent takes two seconds. */
const SCRAPE = "3s";
/** An hour. */
const QUIET_MS = 3_600_000 / SPEED;
const RAISED_MS = 300_000;
/** Until no window holds the last fault any more. */
const OVER_MS = 300_000;
const WARM_MS = 20_000;
/** A model may think for longer than in the fault suite: it is slow here, not lost. Webhooks are given up within minutes. */
const PATIENT = { FIRST_TOKEN_SECONDS: "20", WEBHOOK_RETRY_SECONDS: "10,60,90,60" };
/** Between two blocks of a chain on which a settlement takes longer than 20 s, and how long it then mines. */
const [LATE_MS, MINING_MS] = [22_000, 400];
/** More webhooks than may be given up within an hour, and than the others' deliveries outweigh. */
const WEBHOOKS_EACH = 3;

/** A fault, the alerts that it must raise, and what ends it. */
type Fault = { what: string; raises: string[]; strike: (practice: Practice) => Promise<() => Promise<unknown>> };

const FAULTS: readonly Fault[] = [
  {
    what: "a worker is killed",
    raises: ["WorkerAway"],
    strike: async ({ world: { stack } }) => {
      await stack.kill("worker-1");
      return () => stack.restart("worker-1");
    },
  },
  {
    what: "all workers stand still",
    raises: ["NoWorkers", "RequestsFail"],
    strike: async (practice) => freeze(practice, "worker-1", "worker-2", "worker-3"),
  },
  {
    what: "the models take 12 s to begin",
    raises: ["SlowFirstToken"],
    strike: (practice) => otherWorkers(practice, { WORKER_BACKEND: "builtin", WORKER_FIRST_TOKEN_MS: "12000" }),
  },
  {
    what: "the model servers are away",
    raises: ["RequestsFail", "JobsFail"],
    strike: (practice) => otherWorkers(practice, { WORKER_BACKEND: "http://127.0.0.1:9/v1" }),
  },
  {
    what: "the indexer is killed",
    raises: ["IndexBehind", "WebhooksLag", "WebhooksStand"],
    strike: async ({ world: { stack } }) => {
      await stack.kill("indexer");
      return () => stack.restart("indexer");
    },
  },
  {
    what: "the index is lost",
    raises: ["IndexAway"],
    strike: async ({ world: { stack } }) => {
      await stack.kill("indexer");
      await query(stack.info.database_url, `ALTER SCHEMA "index" RENAME TO lost`);
      return async () => {
        await query(stack.info.database_url, `ALTER SCHEMA lost RENAME TO "index"`);
        await stack.restart("indexer");
      };
    },
  },
  {
    what: "the node stands still",
    raises: ["ChainSilent", "ChainStands"],
    strike: async (practice) => freeze(practice, "chain"),
  },
  {
    what: "no block is mined",
    raises: ["ChainStands", "TransactionStuck", "NothingMined"],
    strike: async ({ world: { miner } }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const held = miner.hold(() => promise);
      return async () => {
        resolve();
        await held;
      };
    },
  },
  {
    what: "a block every 22 s",
    raises: ["SettlementsLate"],
    strike: async ({ world: { miner } }) => {
      const ended = new AbortController();
      const mining = (async () => {
        while (!ended.signal.aborted) {
          await miner.hold(() => sleep(LATE_MS, undefined, ended).catch(() => {}));
          await sleep(MINING_MS);
        }
      })();
      return async () => {
        ended.abort();
        await mining;
      };
    },
  },
  {
    what: "the node answers every two seconds",
    raises: ["SlowReads"],
    strike: async ({ world, balancer }) => {
      const ended = stutter(world.pid("chain"), { stopped: 1_900, runs: 100 });
      const read = (): void => {
        for (const { apiKey } of world.clients)
          void fetch(`${balancer.url}/v1/account`, { headers: { authorization: `Bearer ${apiKey}` } }).catch(
            () => null,
          );
      };
      const timer = setInterval(read, 1_000);
      return async () => {
        clearInterval(timer);
        await ended();
      };
    },
  },
  {
    what: "a gateway's key is removed",
    raises: ["SignerWithoutLock"],
    strike: async (practice) => {
      const admin = OPERATOR_ADMIN.privateKey;
      await practice.operator(admin, `signers rotate ${OPERATOR} --remove ${SECOND_ADDRESS}`);
      return async () => {
        const { signature } = await practice.operator(SECOND_KEY, `signers consent ${OPERATOR}`);
        await practice.operator(admin, `signers rotate ${OPERATOR} --add ${SECOND_ADDRESS}:${signature}`);
        await practice.exchange(practice.gateways[1], { env: PATIENT });
      };
    },
  },
  {
    what: "a client says that it got another answer",
    raises: ["DisputesOpen"],
    strike: async ({ balancer: { url }, world: { clients } }) => {
      const key = clients[0]?.apiKey ?? "";
      const question = { model: MODEL, max_tokens: 5, messages: [{ role: "user", content: "What was it?" }] };
      const answered = await post(url, key, { path: "/v1/chat/completions", body: question });
      const path = `/v1/jobs/${answered.get("x-service-job-id")}/dispute`;
      await post(url, key, { path, body: { received_output_hash: `sha256:${"5a".repeat(32)}` } });
      return async () => {};
    },
  },
  {
    what: "a worker cheats, and then withholds an answer",
    raises: ["Misconduct", "WithheldProofs"],
    strike: cheat,
  },
  {
    what: "clients ask for more than the stakes cover",
    raises: ["WorkerWithoutRoom"],
    strike: async (practice) => {
      const exchange = async (env: Record<string, string>): Promise<void> => {
        for (const gateway of practice.gateways) await practice.exchange(gateway, { env: { ...PATIENT, ...env } });
      };
      await exchange({ CREDITS_PER_SVC: "0.1" });
      return () => exchange({});
    },
  },
  {
    what: "a signer cannot pay gas",
    raises: ["SignerBalanceLast", "SignerBalanceLow", "TransactionStuck", "NothingMined"],
    strike: async ({ world }) => {
      const balance = await world.rpc<string>("eth_getBalance", [GATEWAY.address, "latest"]);
      await world.rpc("anvil_setBalance", [GATEWAY.address, "0x0"]);
      return () => world.rpc("anvil_setBalance", [GATEWAY.address, balance]);
    },
  },
  {
    what: "PostgreSQL is killed",
    raises: ["SignerWithoutLock", "IndexAway"],
    strike: async ({ world: { stack } }) => {
      await stack.kill("indexer");
      await stack.kill("postgres");
      return async () => {
        await stack.restart("postgres");
        await stack.restart("indexer");
      };
    },
  },
  {
    what: "a gateway is killed",
    raises: ["GatewayDown"],
    strike: async ({ gateways: [, second] }) => {
      await second.kill();
      return () => startGateway(second, { env: PATIENT });
    },
  },
  {
    what: "both gateways are killed",
    raises: ["NoGateway"],
    strike: async ({ gateways }) => {
      await Promise.all(gateways.map((gateway) => gateway.kill()));
      return () => Promise.all(gateways.map((gateway) => startGateway(gateway, { env: PATIENT })));
    },
  },
  {
    what: "a gateway gets a quarter of a processor",
    raises: ["EventLoopStalls"],
    strike: async ({ gateways: [gateway] }) => stutter(gateway.pid, { stopped: 300, runs: 100 }),
  },
  {
    what: "somebody tries keys, 20 a second",
    raises: ["ManyRefusals"],
    strike: async ({ balancer }) => {
      const guess = (): unknown =>
        fetch(`${balancer.url}/v1/account`, { headers: { authorization: "Bearer guess" } }).catch(() => null);
      const timer = setInterval(guess, 50);
      return async () => clearInterval(timer);
    },
  },
  {
    what: "most webhooks are answered with 500",
    raises: ["WebhooksFail", "WebhooksGivenUp"],
    strike: async ({ balancer, world: { clients, receiver } }) => {
      for (const [n, { apiKey }] of clients.entries()) {
        for (let m = 0; m < WEBHOOKS_EACH; m++) {
          const url = receiver.url(`/broken-${n}-${m}`, answer(500));
          await post(balancer.url, apiKey, { path: "/v1/webhooks", body: { url, events: EVENTS } });
        }
      }
      return async () => {};
    },
  },
];

/** deploy/prometheus: its alerts, on a Prometheus beside the system, in a time that runs faster. */
export const alerts: Drill = {
  name: "alerts",
  does: "scrapes the system with Prometheus (Debian's), its rules fifteen times as fast: each fault raises its alerts",
  mayFail: true,
  minutes: 90,
  // A withheld answer is asked for every ten seconds, before its charge is disputed.
  stack: async () => ({ windows: { finalization: 28 } }),
  practise: async (practice) => {
    const { gateways, options, lossy } = practice;
    for (const gateway of gateways) await practice.exchange(gateway, { env: PATIENT });
    const raised = await startPrometheus(practice);
    await practice.step("the windows fill", () => sleep(WARM_MS));
    const before = [...new Set((await practice.step("quiet", () => seenWithin(raised, QUIET_MS))).keys())];
    practice.expect(before.length === 0, `a quiet hour raised ${before}`);
    const since = Date.now();
    const wanted = options.only.split(",");
    for (const { what, raises, strike } of FAULTS.filter((fault) => wanted.some((part) => fault.what.includes(part)))) {
      const end = await strike(practice);
      const times = await practice.step(what, () => seenWithin(raised, RAISED_MS, raises));
      await end();
      const shown = [...times].map(([name, ms]) => `${name} ${((ms * SPEED) / 60_000).toFixed(1)}`);
      options.note(`${what} | minutes at the pace of the rules: ${shown.join(", ")}`);
      const missing = raises.filter((name) => !times.has(name));
      practice.expect(missing.length === 0, `${what}: no ${missing}`);
      const left = await practice.step("its end", () => silence(raised));
      practice.expect(left.length === 0, `${what} is over, and there is still ${left}`);
    }
    lossy.push({ from: since, until: Date.now() });
  },
};

type Raised = () => Promise<string[]>;

/** Starts a Prometheus with the rules of deploy/, and returns how to ask which alerts there are. */
async function startPrometheus({ gateways, ends, world }: Practice): Promise<Raised> {
  const folder = join(temporaryDataDir(), "prometheus");
  mkdirSync(folder);
  const rules = readFileSync(join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8")
    .replaceAll(/(?<=for: |\[|offset )(\d+)([smhd])/g, (_, n, unit) => `${(n * (UNITS[unit] ?? 0)) / SPEED}ms`)
    // The price of the test chain's gas.
    .replace("vector(300000)", "vector(1)");
  writeFileSync(join(folder, "alerts.yaml"), rules);
  const targets = (urls: string[]) => [{ targets: urls.map((url) => new URL(url).host) }];
  const config = {
    global: { scrape_interval: SCRAPE, scrape_timeout: SCRAPE, evaluation_interval: "1s" },
    rule_files: ["alerts.yaml"],
    scrape_configs: [
      { job_name: "gateway", static_configs: targets(gateways.map(({ url }) => url)) },
      { job_name: "indexer", static_configs: targets([`http://127.0.0.1:${world.stack.options.ports.indexer}`]) },
    ],
  };
  // JSON is YAML.
  writeFileSync(join(folder, "prometheus.yaml"), JSON.stringify(config));
  const listen = `127.0.0.1:${await freePort()}`;
  const flags = { "config.file": "prometheus.yaml", "storage.tsdb.path": "data", "web.listen-address": listen };
  const lookback = { "query.lookback-delta": `${300 / SPEED}s` };
  const args = Object.entries({ ...flags, ...lookback }).map(([name, value]) => `--${name}=${value}`);
  const prometheus = new Part("prometheus", "prometheus", args, { cwd: folder });
  ends.push(() => prometheus.stop("SIGTERM"));
  await prometheus.until(async () => (await fetch(`http://${listen}/-/ready`)).ok);
  return async () => {
    const { data } = (await (await fetch(`http://${listen}/api/v1/alerts`)).json()) as Answer;
    return data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
  };
}

type Answer = { data: { alerts: { state: string; labels: { alertname: string } }[] } };
const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Alerts that fire, with the time that each took, until all of `wanted` do, or for `ms`. */
async function seenWithin(raised: Raised, ms: number, wanted?: readonly string[]): Promise<Map<string, number>> {
  const begun = Date.now();
  const seen = new Map<string, number>();
  while (Date.now() - begun < ms && !wanted?.every((name) => seen.has(name))) {
    await sleep(250);
    for (const name of await raised()) if (!seen.has(name)) seen.set(name, Date.now() - begun);
  }
  return seen;
}

/** Waits until no alert fires; returns those that go on. */
async function silence(raised: Raised): Promise<string[]> {
  for (const end = Date.now() + OVER_MS; ; await sleep(250)) {
    const left = await raised();
    if (left.length === 0 || Date.now() > end) return [...new Set(left)];
  }
}

function freeze({ world }: Practice, ...parts: string[]): () => Promise<unknown> {
  const pids = parts.map(world.pid);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  return async () => {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  };
}

/** Asks as a client, must be answered, and returns the reply's headers. */
async function post(url: string, key: string, { path, body }: { path: string; body: object }): Promise<Headers> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const reply = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const told = await reply.text();
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${told}`);
  return reply.headers;
}

/** Stops a process again and again; returns how to end that. */
function stutter(pid: number, { stopped, runs }: { stopped: number; runs: number }): () => Promise<void> {
  const ended = new AbortController();
  const stuttering = (async () => {
    while (!ended.signal.aborted) {
      process.kill(pid, "SIGSTOP");
      await sleep(stopped);
      process.kill(pid, "SIGCONT");
      await sleep(runs);
    }
  })();
  return async () => {
    ended.abort();
    await stuttering;
  };
}

/** Workers with other settings in place of the stack's. */
async function otherWorkers({ world: { stack }, ends }: Practice, env: Record<string, string>) {
  const known = { ...stack, dataDir: stack.options.dataDir };
  const names = stack.workers.map(({ name }) => name);
  await Promise.all(names.map((name) => stack.kill(name, "SIGTERM")));
  const others = await Promise.all(stack.workers.map(({ number }) => startWorker(known, number, env)));
  const stop = () => Promise.all(others.map((worker) => worker.stop("SIGTERM")));
  ends.push(async () => void (await stop()));
  return async () => {
    await stop();
    for (const name of names) await stack.restart(name);
  };
}

/**
 * One more worker: it proves another hash than that of its first answer, proves its second one on chain and hangs up, and is busy ever after. It
 * hands the proven answer out when it is asked for the second time.
 */
async function cheat(practice: Practice): Promise<() => Promise<void>> {
  const place = await practice.enrol();
  const worker = await PlayedWorker.start(place, place.workers.length);
  practice.ends.push(() => worker.stop());
  await giveGas(place, worker.address);
  const reply = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  let [jobs, questions] = [0, 0];
  let proven: Awaited<ReturnType<PlayedWorker["prove"]>> | undefined;
  const script: Script = async (offer, response) => {
    if (offer.request === undefined) {
      if (offer.assignment.jobId !== proven?.completion.jobId) return reply(response, 404, {});
      questions += 1;
      return questions === 1 ? void response.destroy() : reply(response, 200, { text: "Late.", ...proven });
    }
    jobs += 1;
    if (jobs > 2) return reply(response, 503, { error: { code: "busy", message: "try elsewhere" } });
    if (jobs === 2) {
      proven = await worker.prove(offer, "Late.");
      return void response.destroy();
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(await worker.acknowledgement(offer));
    response.write(event("delta", { content: "What was said." }));
    response.end(event("completed", await worker.completion(offer, "What was proven.")));
  };
  worker.play(script, { raw: true, once: true });
  return async () => {};
}
