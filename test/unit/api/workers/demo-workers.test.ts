import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RegisteredWorker } from "../../../../api/chain/directory.ts";
import type { WorkerPool } from "../../../../api/workers/worker-pool.ts";
import type { Ability } from "../../../../protocol/dispatch.ts";
import { MODEL, registered } from "../../../support/fake-gateway.ts";
import { directoryOf, workerPool } from "../../support/worker-pool.ts";

const named = (name: string) => registered({ signer: `0x${name.repeat(20)}`, endpoint: `http://${name}.test` });
const [generator, other, model] = [named("aa"), named("bb"), named("cc")];

let listed: RegisteredWorker[];
let away: Set<RegisteredWorker>;
let pool: WorkerPool;

beforeEach(async () => {
  vi.useFakeTimers();
  [listed, away] = [[generator, other], new Set()];
  const probe = async (endpoint: string) => {
    const worker = listed.find((one) => one.endpoint === endpoint) as RegisteredWorker;
    if (away.has(worker)) throw new Error("connect ECONNREFUSED");
    const demo = worker !== model;
    return { status: "ok", worker: worker.signer, capacity: 4, abilities: demo ? { m: ["json_object"] } : {}, demo };
  };
  pool = workerPool({ directory: directoryOf(() => listed), client: { probe } });
  await pool.start();
});
afterEach(() => {
  pool.stop();
  vi.useRealTimers();
});

const hosts = () => pool.hosts(MODEL.number).map(({ endpoint }) => endpoint);
const chosen = (needs: Ability[] = []) => pool.keep(MODEL.number, { credits: 1, needs })?.worker.endpoint;

it("text generators answer for an unserved model, known as demo text", () => {
  expect(hosts()).toEqual([generator.endpoint, other.endpoint]);
  expect(pool.isDemo(MODEL.number)).toBe(true);
});

it("no generator answers any more once a worker with a model was heard", async () => {
  listed.push(model);
  expect(hosts()).toEqual([generator.endpoint, other.endpoint]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([hosts(), chosen(), pool.isDemo(MODEL.number)]).toEqual([[model.endpoint], model.endpoint, false]);
  // What only the generators can do is not offered either.
  expect([chosen(["json_object"]), pool.isDeclared(MODEL.number, ["json_object"])]).toEqual([undefined, false]);
});

it("nor while that worker is away, until it has left the registry", async () => {
  listed.push(model);
  await vi.advanceTimersByTimeAsync(1_000);
  away.add(model);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([hosts(), chosen()]).toEqual([[], undefined]);
  listed.pop();
  expect(hosts()).toEqual([generator.endpoint, other.endpoint]);
});
