import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RegisteredWorker } from "../../../../api/chain/directory.ts";
import { Observations } from "../../../../api/db/observations.ts";
import { WorkerPool } from "../../../../api/workers/worker-pool.ts";
import type { Ability } from "../../../../protocol/dispatch.ts";

const MODEL = 1;
const named = (name: string) =>
  ({ signer: `0x${name.repeat(20)}`, endpoint: `http://${name}.test` }) as unknown as RegisteredWorker;
const [generator, other, model] = [named("aa"), named("bb"), named("cc")];

let registered: RegisteredWorker[];
let away: Set<RegisteredWorker>;
let pool: WorkerPool;

beforeEach(async () => {
  vi.useFakeTimers();
  [registered, away] = [[generator, other], new Set()];
  const probe = async (endpoint: string) => {
    const worker = registered.find((one) => one.endpoint === endpoint) as RegisteredWorker;
    if (away.has(worker)) throw new Error("connect ECONNREFUSED");
    const demo = worker !== model;
    return { status: "ok", worker: worker.signer, capacity: 4, abilities: demo ? { m: ["json_object"] } : {}, demo };
  };
  const listed = { id: "m", number: MODEL };
  const directory = {
    workers: () => registered,
    workersOf: () => registered,
    model: () => listed,
    models: () => [listed],
  };
  const rest = {
    incidents: {},
    observations: new Observations(),
    metrics: {},
    exposure: { largest: () => 1_000, room: () => 1_000, keep: () => () => {} },
    logger: pino({ level: "silent" }),
  };
  pool = new WorkerPool({ directory, client: { probe }, ...rest } as never, {
    startWithinMs: 5_000,
    misconductRestMs: 1_000,
  });
  await pool.start();
});
afterEach(() => {
  pool.stop();
  vi.useRealTimers();
});

const hosts = () => pool.hosts(MODEL).map(({ endpoint }) => endpoint);
const chosen = (needs: Ability[] = []) => pool.keep(MODEL, { credits: 1, needs })?.worker.endpoint;

it("text generators answer for an unserved model, known as demo text", () => {
  expect(hosts()).toEqual([generator.endpoint, other.endpoint]);
  expect(pool.isDemo(MODEL)).toBe(true);
});

it("no generator answers any more once a worker with a model was heard", async () => {
  registered.push(model);
  expect(hosts()).toEqual([generator.endpoint, other.endpoint]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([hosts(), chosen(), pool.isDemo(MODEL)]).toEqual([[model.endpoint], model.endpoint, false]);
  // What only the generators can do is not offered either.
  expect([chosen(["json_object"]), pool.isDeclared(MODEL, ["json_object"])]).toEqual([undefined, false]);
});

it("nor while that worker is away, until it has left the registry", async () => {
  registered.push(model);
  await vi.advanceTimersByTimeAsync(1_000);
  away.add(model);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([hosts(), chosen()]).toEqual([[], undefined]);
  registered.pop();
  expect(hosts()).toEqual([generator.endpoint, other.endpoint]);
});
