import { type RequestHandler, Router } from "express";
import { sleep } from "../../shared/sleep.ts";
import type { Directory } from "../chain/directory.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head } from "../chain/rpc.ts";
import type { SignerLock } from "../chain/signer-lock.ts";
import type { Config } from "../config.ts";
import { type Reader, sharedRead } from "../db/pool.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import { burstLimit, operatorsOnly } from "./limits.ts";

/** Nothing mined for so long, though something waits: no lock is mined in time any more. */
const UNMINED_MS = 45_000;
/** A database that takes longer to answer does not serve. */
const DATABASE_MS = 2_000;
/** One look at the database serves all who ask within this time. */
const SHARED_MS = 250;

/** Parts without which no chat request is served. */
export type CheckedParts = {
  head: Pick<Head, "isSilent">;
  signerLock: Pick<SignerLock, "held">;
  pipeline: Pick<Pipeline, "congested" | "unminedMs">;
  phase: { readonly recovered: boolean; readonly accepting: boolean };
};

type WorkerParts = { directory: Pick<Directory, "models">; workers: Pick<WorkerPool, "hosts"> };

export type HealthParts = CheckedParts &
  WorkerParts & {
    config: Pick<Config, "BURST_PER_SECOND" | "METRICS_TOKEN">;
    pool: Reader;
    metrics: { registry: Pick<Metrics["registry"], "contentType" | "metrics"> };
  };

/** `GET /healthz` (alive), `/readyz` (can serve), `/metrics` (Prometheus, not for clients). */
export function healthRoutes(gateway: HealthParts): Router {
  const alive: RequestHandler = (_request, response) => {
    response.json({ status: "ok" });
  };

  // The route is open to everybody.
  const look = () => answers(gateway.pool.query("SELECT 1"));
  const database = sharedRead(
    look,
    () => performance.now(),
    () => SHARED_MS,
  );
  const ready: RequestHandler = async (_request, response) => {
    // A stopping gateway says so at once: while a slow database is asked, the load balancer would send more requests.
    const asked = gateway.phase.accepting ? { database: await database() } : {};
    const checks = { ...asked, ...gatewayChecks(gateway) };
    const ok = Object.values(checks).every(Boolean);
    // No reason to send requests elsewhere: accounts, lists and disputes work without workers, and every gateway has the same ones.
    const workers = aliveWorkers(gateway);
    const notice = workers === 0 ? { notice: "no worker is alive: chat requests are answered with 503" } : {};
    response.status(ok ? 200 : 503).json({ status: ok ? "ready" : "not ready", checks, workers, ...notice });
  };

  const { registry } = gateway.metrics;
  const metrics: RequestHandler = async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  };

  // A proxy that hides these paths names them as they stand here.
  return Router({ caseSensitive: true, strict: true })
    .get("/healthz", alive)
    .get("/readyz", burstLimit(gateway.config.BURST_PER_SECOND), ready)
    .get("/metrics", operatorsOnly(gateway.config.METRICS_TOKEN), metrics);
}

/** Whether each part that a chat request needs works now, but for the database. */
export const gatewayChecks = ({ head, signerLock, pipeline, phase }: CheckedParts) => ({
  chain: !head.isSilent,
  signer: signerLock.held,
  settlement: !pipeline.congested,
  mining: pipeline.unminedMs < UNMINED_MS,
  recovery: phase.recovered,
  accepting: phase.accepting,
});

/** Workers that answer this gateway, of any model. */
function aliveWorkers({ directory, workers }: WorkerParts): number {
  const hosts = directory.models().flatMap(({ number }) => workers.hosts(number));
  return new Set(hosts.map(({ signer }) => signer)).size;
}

async function answers(query: Promise<unknown>): Promise<boolean> {
  return Promise.race([query.then(() => true).catch(() => false), sleep(DATABASE_MS).then(() => false)]);
}
