import { type RequestHandler, Router } from "express";
import type { Gateway } from "../gateway.ts";
import { operatorsOnly } from "./limits.ts";

/** A head older than this means that the chain node does not answer. */
const HEAD_SILENT_MS = 5_000;

/** `GET /healthz` (alive), `/readyz` (can serve), `/metrics` (Prometheus, not for clients). */
export function healthRoutes(gateway: Gateway): Router {
  const alive: RequestHandler = (_request, response) => {
    response.json({ status: "ok" });
  };

  const ready: RequestHandler = async (_request, response) => {
    const checks = {
      database: await answers(gateway.pool.query("SELECT 1")),
      chain: gateway.head.silentMs < HEAD_SILENT_MS,
      signer: gateway.signerLock.held,
      settlement: !gateway.pipeline.congested,
      recovery: gateway.phase.takenUp,
      accepting: gateway.phase.accepting,
    };
    const ok = Object.values(checks).every(Boolean);
    response.status(ok ? 200 : 503).json({ status: ok ? "ready" : "not ready", checks });
  };

  const { registry } = gateway.metrics;
  const metrics: RequestHandler = async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  };

  return Router()
    .get("/healthz", alive)
    .get("/readyz", ready)
    .get("/metrics", operatorsOnly(gateway.config.METRICS_TOKEN), metrics);
}

async function answers(query: Promise<unknown>): Promise<boolean> {
  const tooLate = new Promise<false>((resolve) => setTimeout(() => resolve(false), 2_000).unref());
  return Promise.race([query.then(() => true).catch(() => false), tooLate]);
}
