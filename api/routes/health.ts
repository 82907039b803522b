import { type RequestHandler, Router } from "express";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Gateway } from "../gateway.ts";

/** A head older than this means that the chain node does not answer. */
const HEAD_SILENT_MS = 5_000;

/** `GET /healthz` (alive), `/readyz` (can serve), `/metrics` (Prometheus). Open to the operator's network, not to clients. */
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
      accepting: !gateway.stopping,
    };
    const ok = Object.values(checks).every(Boolean);
    response.status(ok ? 200 : 503).json({ status: ok ? "ready" : "not ready", checks });
  };

  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  gauge(registry, "gateway_operations_queued", "Operations waiting for a batch", () => gateway.pipeline.queued);
  gauge(registry, "gateway_jobs_running", "Jobs that this process runs", () => gateway.running.size);
  gauge(registry, "gateway_chain_head", "Newest block seen", () => gateway.head.block.number);
  const metrics: RequestHandler = async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  };

  return Router().get("/healthz", alive).get("/readyz", ready).get("/metrics", metrics);
}

function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  const metric: Gauge = new Gauge({
    name,
    help,
    registers: [registry],
    collect: () => metric.set(value()),
  });
}

async function answers(query: Promise<unknown>): Promise<boolean> {
  const tooLate = new Promise<false>((resolve) => setTimeout(() => resolve(false), 2_000).unref());
  return Promise.race([query.then(() => true).catch(() => false), tooLate]);
}
