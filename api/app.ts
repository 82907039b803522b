import { randomUUID } from "node:crypto";
import { SpanKind } from "@opentelemetry/api";
import express, { type Express, type RequestHandler } from "express";
import { continueTrace } from "../shared/tracing.ts";
import { webApp } from "../web/server/app.ts";
import type { Gateway } from "./gateway.ts";
import { mount } from "./routes/define-route.ts";
import { docsRoutes } from "./routes/docs.ts";
import { errorHandler, notFound } from "./routes/errors.ts";
import { healthRoutes } from "./routes/health.ts";
import { Bodies, readForm } from "./routes/json-body.ts";
import { anyOrigin, burstLimit, noStore, preflight } from "./routes/limits.ts";
import { authenticate, pathOf } from "./routes/request.ts";
import { chatRoute, FORM_ROUTES, patternOf } from "./routes/routes.ts";
import { boundUnread } from "./routes/unread.ts";

/** Bytes of all answers that wait in this process for their clients to read them. */
const UNREAD_LIMIT = 128 * 1024 * 1024;

/** The HTTP surface: operator's routes, then everything below `/v1` behind the bearer key. */
export function createApp(gateway: Gateway): Express {
  const { config, logger } = gateway;
  const parts = { ...gateway, bodies: new Bodies() };
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.TRUST_PROXY);
  const unreadClosed = (owner: string, bytes: number) =>
    logger.warn(
      { owner, bytes },
      "a client does not read its answers, and too many bytes wait for it: its connection was closed",
    );
  app.use(requestId, boundUnread(UNREAD_LIMIT, unreadClosed), endConnections(gateway), logRequests(gateway));
  app.use(healthRoutes(gateway));

  const v1 = express.Router();
  v1.use(noStore, anyOrigin, burstLimit(config.BURST_PER_SECOND), preflight);
  v1.use(authenticate(gateway.keys, gateway.balances), traceRequest);
  mount(v1, [chatRoute], parts);
  v1.use(readForm(parts.bodies));
  mount(v1, FORM_ROUTES, parts, gateway.index);
  app.use("/v1", v1);
  // Pages, files, and every path that does not exist.
  app.use(burstLimit(config.BURST_PER_SECOND));
  app.use(docsRoutes(config, gateway.operator.id));
  app.use(webApp(parts));

  app.use(notFound);
  app.use(errorHandler(config.DOCS_URL, logger));
  return app;
}

const requestId: RequestHandler = (request, response, next) => {
  request.requestId = randomUUID();
  request.arrivedAt = new Date();
  request.receivedAt = performance.now();
  response.setHeader("x-request-id", request.requestId);
  next();
};

/** A stopping gateway ends each connection with its answer: a proxy would send its next request into it. */
function endConnections({ phase }: Gateway): RequestHandler {
  return (request, response, next) => {
    if (!phase.accepting) response.setHeader("connection", "close");
    response.once("finish", () => {
      if (!phase.accepting) request.socket.destroySoon();
    });
    next();
  };
}

/** The request as a span of its client's trace. It comes after the key: strangers must not fill anybody's store of traces. */
const traceRequest: RequestHandler = (request, response, next) => {
  const { method, requestId, arrivedAt } = request;
  const route = patternOf(pathOf(request)) ?? "none";
  const attributes = { "http.request.method": method, "http.route": route, "request.id": requestId };
  const options = { kind: SpanKind.SERVER, startTime: arrivedAt, attributes };
  continueTrace(request.headers, `${method} ${route}`, options, (span) => {
    response.on("close", () => span.setAttribute("http.response.status_code", response.statusCode).end());
    next();
  });
};

/** One line a request, when it is over: never a key, a prompt or an answer. */
function logRequests({ logger, metrics }: Gateway): RequestHandler {
  return (request, response, next) => {
    response.on("close", () => {
      const seconds = (performance.now() - request.receivedAt) / 1000;
      if (request.originalUrl.startsWith("/v1/")) {
        // Matched by the path, because Express forgets a request's route once an error has left the router.
        const route = patternOf(pathOf(request)) ?? "none";
        metrics.requests.inc({ route, method: request.method, status: String(response.statusCode) });
        metrics.requestSeconds.observe({ route }, seconds);
      }
      // A client that asks too often must not fill the disk with log lines; the metrics above count its requests.
      logger[response.statusCode === 429 ? "debug" : "info"](
        {
          requestId: request.requestId,
          method: request.method,
          path: pathOf(request),
          status: response.statusCode,
          ms: Math.round(seconds * 1000),
          jobId: response.getHeader("x-service-job-id"),
          complete: response.writableFinished,
        },
        "request",
      );
    });
    next();
  };
}
