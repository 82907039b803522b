import express, { type RequestHandler, Router } from "express";
import type { Gateway } from "../gateway.ts";
import { plainShape } from "../http/body.ts";
import { burstLimit } from "../http/burst-limit.ts";
import { jobRoutes } from "../routes/jobs.ts";
import { webhookRoutes } from "../routes/webhooks.ts";
import { JobStore } from "../store/jobs.ts";
import { accountRoute, keyRoutes } from "./account-routes.ts";
import { configRoute, deploymentRoute } from "./config-route.ts";
import { directoryRoutes } from "./directory-routes.ts";
import { WebError, webErrorHandler } from "./errors.ts";
import { explorerRoutes } from "./explorer-routes.ts";
import { Nonces } from "./nonces.ts";
import { sameOriginOnly, securityHeaders } from "./security.ts";
import { requireSession, sessionRoutes } from "./session-routes.ts";
import { Sessions } from "./sessions.ts";
import { staticFiles } from "./static.ts";
import { usageRoute } from "./usage.ts";
import { usageCsvRoute } from "./usage-csv.ts";
import { deliveryRoutes, settingsRoutes } from "./webhook-routes.ts";

const BODY_LIMIT = 64 * 1024;
/** Requests a second from one address that lead to questions to the node; nodes are metered. */
const NODE_PER_SECOND = 50;
/** The same for what is read of all workers and models, on the connections that jobs need. */
const DIRECTORY_PER_SECOND = 50;

/** Everything below `/app`: the application's files, and below `/app/api` the routes only it uses (docs/web.md). */
export function webApp(gateway: Gateway): Router {
  return Router().use(securityHeaders).use("/api", webApi(gateway)).use(staticFiles()).use(webErrorHandler);
}

function webApi(gateway: Gateway): Router {
  const { config, pool, rpc, keys, jobReader, operator } = gateway;
  const { origin } = new URL(config.APP_URL);
  const { chainId, contracts } = config.deployment;
  const sessions = {
    sessions: new Sessions(pool),
    nonces: new Nonces(pool, config.MASTER_KEY, config.OTHER_MASTER_KEYS),
    rpc,
    audience: { origin, chainId },
  };
  const now = () => gateway.head.time;
  const parts = { rpc, escrow: contracts.InferenceEscrow, keys, now };

  const api = Router();
  api.use(
    burstLimit(config.BURST_PER_SECOND),
    noStore,
    sameOriginOnly(origin),
    express.json({ limit: BODY_LIMIT }),
    plainShape,
  );
  // Open to everybody, and each asks the node, some of them a dozen times.
  api.use(["/session", "/tx", "/explorer"], burstLimit(Math.min(config.BURST_PER_SECOND, NODE_PER_SECOND)));
  api.use(["/workers", "/models"], burstLimit(Math.min(config.BURST_PER_SECOND, DIRECTORY_PER_SECOND)));
  api.get("/config", configRoute(config, operator.id));
  api.get("/deployment.json", deploymentRoute(config));
  api.use(sessionRoutes(sessions));
  api.use(explorerRoutes({ rpc, reader: pool, jobs: new JobStore(pool) }));
  api.use(directoryRoutes(pool));

  const session = requireSession(sessions);
  api.get("/account", session, accountRoute(parts));
  api.get("/usage", session, usageRoute(pool, now));
  api.use("/key", session, keyRoutes(parts));
  api.get("/jobs.csv", session, usageCsvRoute(jobReader));
  api.get("/jobs/:job_id/output", session, gateway.output);
  api.post("/jobs/:job_id/dispute", session, gateway.dispute);
  api.use("/jobs", session, jobRoutes(jobReader));
  api.use("/settings", session, settingsRoutes(gateway.webhooks.context));
  api.use(["/webhooks", "/deliveries"], session);
  api.use(deliveryRoutes(gateway.webhooks.context));
  api.use("/webhooks", webhookRoutes(gateway.webhooks.context));
  api.use(unknown);
  return api;
}

const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader("cache-control", "no-store");
  next();
};

const unknown: RequestHandler = (request) => {
  throw new WebError("not_found", `There is no ${request.method} ${request.originalUrl.split("?", 1)[0]}.`);
};
