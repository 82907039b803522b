import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { runOperator } from "../../operator/main.ts";
import { bringUpToDate, DEV_OWNER, registrarOf } from "../../operator/register-workers.ts";
import { freePort } from "../../scripts/dev/ports.ts";
import { GATEWAY } from "../../scripts/dev/wallets.ts";
import { onStopSignal } from "../../shared/signals.ts";
import { Load } from "../faults/load.ts";
import { judge, type Lossy, type Verdict } from "../faults/verdict.ts";
import { GATEWAY_ENV, MODEL, openWorld, type World } from "../faults/world.ts";
import { Balancer } from "../support/balancer.ts";
import { Patience } from "../support/patience.ts";
import { Part, ROOT } from "../support/processes.ts";
import { Random } from "../support/random.ts";
import type { RecordedRequest } from "../support/recorded-request.ts";
import { SecondGateway } from "../support/second-gateway.ts";
import { plainEnv, type TestStackOptions } from "../support/stack.ts";

/** One drill of docs/operations: what an operator does by hand, done by a script under load. */
export type Drill = {
  name: string;
  does: string;
  /** Requests may fail, as in an accident; without it each one that fails is a problem. */
  mayFail?: true;
  /** What it takes at most; 15 by default. */
  minutes?: number;
  /** What differs from the stack of the fault suite. */
  stack?: () => Promise<TestStackOptions>;
  practise: (practice: Practice) => Promise<void>;
};

type DrillOptions = {
  rate: number;
  /** The version before this one, as git names it. */
  before: string;
  /** Parts of the names of the faults to raise. */
  only: string;
  note: (line: string) => void;
};

/** `failures`: the first twenty failed requests. */
type DrillResult = Verdict & { rows: Step[]; failures: string[] };
type Step = { step: string; seconds: number; requests: number; failed: number };

const LAST_ANSWERS_MS = 120_000;
const CONCURRENCY = 8;
/** Longer than the balancer takes to notice. */
const STOP_DELAY = { STOP_DELAY_SECONDS: "1" };

type Parts = Pick<Practice, "world" | "gateways" | "balancer" | "ends" | "options">;

/** A drill under way: two gateways behind a load balancer, clients that never stop asking, and what was done so far. */
export class Practice {
  readonly world: World;
  readonly load: Load;
  readonly balancer: Balancer;
  /** The gateway of the stack's own signer, the one of the second, and those that came later. */
  readonly gateways: [SecondGateway, SecondGateway, ...SecondGateway[]];
  readonly options: DrillOptions;
  readonly steps: Step[] = [];
  readonly problems: string[] = [];
  /** When an answer can have lost its lock or its settlement. */
  readonly lossy: Lossy[] = [];
  /** What is done at the end of the drill, the last one first. */
  readonly ends: (() => Promise<void> | void)[];

  constructor({ world, gateways, balancer, ends, options }: Parts) {
    this.world = world;
    this.gateways = gateways;
    this.balancer = balancer;
    this.ends = ends;
    this.options = options;
    const pace = { concurrency: CONCURRENCY, rate: options.rate, patient: true };
    this.load = new Load(world, new Random(1), pace);
  }

  get failures(): RecordedRequest[] {
    return this.load.requests.filter(({ outcome }) => outcome !== "answered");
  }

  /** A failed request: what its client was told, and what the gateways' logs say of it. */
  told({ at, outcome, status, code, message, jobId, requestId }: RecordedRequest): string {
    const ids = [jobId, requestId].filter((id) => id !== null);
    const lines = this.gateways.flatMap(({ url, output }) => output.split("\n").map((line) => `\n  ${url} ${line}`));
    const logged = lines.filter((line) => ids.some((id) => line.includes(id)));
    return [new Date(at).toISOString().slice(11, 23), outcome, status, code, ...ids, message, ...logged].join(" ");
  }

  /** Does one step, and notes how long it took and what clients saw meanwhile. */
  async step<T>(what: string, work: () => Promise<T>): Promise<T> {
    const [begun, requests, failed] = [Date.now(), this.load.requests.length, this.failures.length];
    this.options.note(`${what} …`);
    const result = await work();
    const step = {
      step: what,
      seconds: Number(((Date.now() - begun) / 1000).toFixed(1)),
      requests: this.load.requests.length - requests,
      failed: this.failures.length - failed,
    };
    this.steps.push(step);
    this.options.note(`${what}: ${step.seconds} s, ${step.requests} requests ended, ${step.failed} of them failed`);
    return result;
  }

  /** What does not hold fails the drill. */
  expect(holds: boolean, problem: string): void {
    if (!holds) this.problems.push(problem);
  }

  /** Ends a gateway as an upgrade does, and starts it with other settings or from another checkout. */
  async exchange(gateway: SecondGateway, changes?: Changes): Promise<void> {
    await gateway.kill("SIGTERM");
    this.expect(
      gateway.exitCode === 0,
      `a gateway ended with ${gateway.exitCode} after SIGTERM: ${gateway.output.slice(-2_000)}`,
    );
    await startGateway(gateway, changes);
    await this.balancer.letsIn(gateway.url);
  }

  /** One more gateway of the operator behind the load balancer, with this signer. */
  async gateway(key: Hex): Promise<SecondGateway> {
    const gateway = new SecondGateway(this.world.stack, { ...GATEWAY_ENV, GATEWAY_PRIVATE_KEY: key });
    this.ends.push(() => gateway.kill());
    await startGateway(gateway);
    this.gateways.push(gateway);
    await this.balancer.add(gateway.url);
    await this.balancer.letsIn(gateway.url);
    return gateway;
  }

  /** An indexer of the drill's own in place of the stack's, or beside it. */
  async indexer(env: Record<string, string> = {}, root = ROOT): Promise<Part> {
    const { info, deploymentFile } = this.world.stack;
    const port = await freePort();
    const place = { DATABASE_URL: info.database_url, RPC_URL: info.rpc_url, DEPLOYMENT_FILE: deploymentFile };
    const settings = { ...plainEnv(), ...place, WS_URL: "", INDEXER_PORT: String(port), ...env };
    const indexer = new Part("indexer", process.execPath, ["indexer/main.ts"], { cwd: root, env: settings });
    this.ends.push(() => indexer.stop("SIGKILL"));
    await indexer.until(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).ok);
    return indexer;
  }

  /** Registers one more worker on chain, which is not started: the last one of the stack that is returned. */
  async enrol() {
    const { info, deployment, deploymentFile, options, workers } = this.world.stack;
    if (deployment === null) throw new Error("the stack has no contracts");
    const [port, number] = [await freePort(), workers.length + 1];
    const place = { number, name: `worker-${number}`, port, endpoint: `http://127.0.0.1:${port}` };
    const entry = { ...place, privateKey: generatePrivateKey(), models: [MODEL], env: {}, start: false };
    await bringUpToDate(registrarOf(info.rpc_url, DEV_OWNER, deployment), [entry]);
    return { info, dataDir: options.dataDir, deploymentFile, workers: [...workers, entry] };
  }

  /** A command of `npm run operator`, sent with this key; returns its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each command has its own form
  async operator(key: string, command: string): Promise<any> {
    const { info, deploymentFile } = this.world.stack;
    const place = { RPC_URL: info.rpc_url, DATABASE_URL: info.database_url, DEPLOYMENT_FILE: deploymentFile };
    const argv = [...command.split(" "), "--json", "--yes"];
    return JSON.parse(await runOperator(argv, { ...place, OPERATOR_PRIVATE_KEY: key }));
  }
}

type Changes = Parameters<SecondGateway["start"]>[0];

/** Starts a gateway as one behind a load balancer, and waits until it can serve. */
export const startGateway = (gateway: SecondGateway, { env, ...others }: NonNullable<Changes> = {}): Promise<void> =>
  gateway.start({ env: { ...STOP_DELAY, ...env }, ...others });

/** Runs a drill under load; then the verdict of the fault suite. */
export async function run(drill: Drill, options: DrillOptions): Promise<DrillResult> {
  const { note, rate } = options;
  const withinMs = (drill.minutes ?? 15) * 60_000;
  const patience = new Patience(withinMs, note);
  const stack = await drill.stack?.();
  const credits = Math.ceil((rate * withinMs) / 1000) * 8;
  const world = await openWorld({ credits, note, ...(stack === undefined ? {} : { stack }) });
  const first = new SecondGateway(world.stack, { ...GATEWAY_ENV, GATEWAY_PRIVATE_KEY: GATEWAY.privateKey });
  const ends: Practice["ends"] = [() => world.stop(), () => first.kill()];
  const interrupted = Promise.withResolvers<never>();
  onStopSignal(() => interrupted.reject(new Error("interrupted")));
  const work = async (): Promise<DrillResult> => {
    await world.stack.kill("api", "SIGTERM");
    await world.second.kill("SIGTERM");
    for (const gateway of [first, world.second]) await startGateway(gateway);
    const balancer = await Balancer.open([first.url, world.second.url]);
    ends.push(() => balancer.close());
    world.gateways.splice(0, 2, balancer.url);
    const practice = new Practice({ world, gateways: [first, world.second], balancer, ends, options });
    await patience.within(drill.name, drill.practise(practice), withinMs);
    await patience.within("the last answers", practice.load.stop(), LAST_ANSWERS_MS);
    note(`${practice.load.requests.length} requests made; the verdict follows`);
    const verdict = await judge(world, practice.load, practice.lossy, patience);
    const { failures, steps, problems } = practice;
    if (drill.mayFail !== true && failures.length > 0) problems.push(`${failures.length} requests failed`);
    verdict.problems.unshift(...problems);
    return { ...verdict, rows: steps, failures: failures.slice(0, 20).map((failure) => practice.told(failure)) };
  };
  try {
    return await Promise.race([work(), interrupted.promise]);
  } finally {
    note("stopping the system");
    for (const end of ends.reverse()) await end();
  }
}

/** The files of another commit beside this project's packages; `remove` deletes them. */
export function checkout(commit: string): { root: string; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), "version-"));
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", root], { input: archive });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}
