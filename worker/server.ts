/** The worker's HTTP interface; protocol/dispatch.ts describes it, and protocol/dispatch.ts what `GET /healthz` answers. */
import type { Server } from "node:http";
import express, { type ErrorRequestHandler, type Express, type Response } from "express";
import type { z } from "zod";
import { dispatchSchema, type Health, messageSchema, outputRequestSchema, RefusalCode } from "../protocol/dispatch.ts";
import { firstBad, whyUnreasonable } from "../shared/json-shape.ts";
import type { Config } from "./config.ts";
import { ConfigError, type Logger } from "./console.ts";
import type { JobRunner } from "./jobs/runner.ts";
import { EventStream, Refusal } from "./reply.ts";

/** Larger than any conversation a listed model takes. */
const BODY_LIMIT = "8mb";

type Parts = { runner: JobRunner; health: () => Health; log: Logger };

/** The routes. */
export function createServer({ runner, health, log }: Parts): Express {
  const app = express().disable("x-powered-by").disable("etag");

  app.get("/healthz", (_req, res) => {
    res.json(health());
  });

  app.use(express.json({ limit: BODY_LIMIT }));
  app.use((req, _res, next) => {
    const reason = whyUnreasonable(req.body);
    if (reason !== null) throw new Refusal(RefusalCode.BadRequest, `the body ${reason}`);
    next();
  });

  app.post("/jobs", async (req, res) => {
    if (health().status === "draining")
      throw new Refusal(RefusalCode.Draining, "this worker is stopping; route the job elsewhere");
    checkMessages(req.body);
    await runner.run(parse(dispatchSchema, req.body), new EventStream(res));
  });

  app.post("/jobs/output", async (req, res) => {
    res.set("cache-control", "no-store").json(await runner.output(parse(outputRequestSchema, req.body)));
  });

  app.use((_req, res) => {
    res
      .status(404)
      .json({ error: { code: "not_found", message: "this is a worker: POST /jobs, POST /jobs/output, GET /healthz" } });
  });

  const onError: ErrorRequestHandler = (error: unknown, req, res, _next) => answerError(error, req.path, res, log);
  app.use(onError);
  return app;
}

/** Listens at the configured address. Rejects with a ConfigError if the port is in use. */
export function listen(app: Express, { port, host }: Pick<Config, "port" | "host">): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = app.listen(port, host, (error?: Error) => {
      if (error === undefined) return resolve(server);
      const busy = "code" in error && error.code === "EADDRINUSE";
      const message = `port ${port} of ${host} is in use: choose another with WORKER_PORT or --port`;
      reject(busy ? new ConfigError(message) : error);
    });
    // Anyone who finds the port can connect: no request may trickle in for minutes, nor connections take all memory.
    server.headersTimeout = 10_000;
    server.requestTimeout = 60_000;
    server.maxConnections = 4_096;
    // Longer than a gateway keeps an idle connection, so that it never writes into one that is being closed.
    server.keepAliveTimeout = 75_000;
  });
}

function answerError(error: unknown, path: string, res: Response, log: Logger): void {
  if (res.headersSent) {
    log.error({ path, err: error }, "failed after the answer had begun");
    res.destroy();
  } else if (error instanceof Refusal) {
    log.info({ path, code: error.code, err: error }, "refused");
    error.send(res);
  } else if (isHttpError(error) && error.status < 500) {
    // Malformed or oversized JSON; express says so in the status.
    res
      .status(error.status)
      .json({ error: { code: RefusalCode.BadRequest, message: "the body is not JSON of an acceptable size" } });
  } else {
    log.error({ path, err: error }, "request failed");
    res.status(500).json({ error: { code: "internal_error", message: "the worker failed; its log tells why" } });
  }
}

/** Anyone can send a body: the schema would make a complaint of each bad message before it refuses the list. */
function checkMessages(body: unknown): void {
  const messages: unknown = Object(Object(body).request).messages;
  const bad = Array.isArray(messages) ? firstBad(messageSchema, messages) : -1;
  if (bad >= 0) throw new Refusal(RefusalCode.BadRequest, `invalid: request.messages.${bad}`);
}

function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  // Paths only: values may be a client's text.
  const fields = [...new Set(result.error.issues.map((issue) => issue.path.join(".") || "body"))].slice(0, 5);
  throw new Refusal(RefusalCode.BadRequest, `invalid: ${fields.join(", ")}`);
}

function isHttpError(error: unknown): error is { status: number } {
  return typeof error === "object" && error !== null && "status" in error && typeof error.status === "number";
}
