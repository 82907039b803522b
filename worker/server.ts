/** The worker's HTTP interface, which protocol/dispatch.ts describes, `GET /healthz` included. */
import { createServer as createHttpServer, type Server } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { SpanKind } from "@opentelemetry/api";
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from "express";
import type { z } from "zod";
import {
  ASSIGNMENT_HEADER,
  dispatchSchema,
  type Health,
  messageSchema,
  outputRequestSchema,
  RefusalCode,
  type Ticket,
  ticketSchema,
  trialRequestSchema,
} from "../protocol/dispatch.ts";
import { toApiJobId } from "../protocol/job-id.ts";
import { boundUnderWay, limitConnectionsEach } from "../shared/connections.ts";
import { DISPATCH_VALUES, firstBad, jsonShapeFault } from "../shared/json-shape.ts";
import { BodyBudget, BodyRefused, readRequestBody } from "../shared/request-body.ts";
import { continueTrace, endAfter } from "../shared/tracing.ts";
import type { Config } from "./config.ts";
import { ConfigError, type Logger } from "./console.ts";
import type { JobRunner } from "./jobs/runner.ts";
import { EventStream, Refusal } from "./reply.ts";

/** Larger than any conversation a listed model takes. */
const DISPATCH_BYTES = 8 * 1024 * 1024;
/** A request for an output has three signatures in it. */
const REQUEST_BYTES = 16 * 1024;
/** Bytes of all bodies at once. */
const BODIES_BYTES = 16 * DISPATCH_BYTES;

type Parts = { runner: JobRunner; health: () => Health; log: Logger };

/** The routes. */
export function createServer({ runner, health, log }: Parts): Express {
  const app = express().disable("x-powered-by").disable("etag");

  app.get("/healthz", (_req, res) => {
    res.json(health());
  });

  const budget = new BodyBudget(BODIES_BYTES);
  const read = async (req: Request, res: Response, limit: number): Promise<unknown> => {
    const from = req.socket.remoteAddress ?? "unknown";
    const { bytes, release } = await readRequestBody(req, { limit, budget, from });
    if (res.closed) release();
    else res.on("close", release);
    const reason = jsonShapeFault(bytes, DISPATCH_VALUES);
    if (reason !== null) throw new Refusal(RefusalCode.BadRequest, `the body ${reason}`);
    return parseJson(bytes.toString("utf8"));
  };

  app.post("/jobs", async (req, res) => {
    if (runner.isDraining) throw new Refusal(RefusalCode.Draining, "this worker is stopping; route the job elsewhere");
    // Before the body: anyone can send one.
    const ticket = ticketOf(req.get(ASSIGNMENT_HEADER));
    const gateway = await runner.admit(ticket);
    const body = await read(req, res, DISPATCH_BYTES);
    checkMessages(body);
    const { assignment, signature, ...job } = parse(dispatchSchema, body);
    if (!isDeepStrictEqual({ assignment, signature }, ticket)) {
      throw new Refusal(RefusalCode.BadRequest, `the body's assignment is not the one of ${ASSIGNMENT_HEADER}`);
    }
    const attributes = { "job.id": toApiJobId(assignment.jobId), "job.attempt": assignment.attempt };
    await continueTrace(req.headers, "job", { kind: SpanKind.SERVER, attributes }, (span) =>
      endAfter(span, () => runner.run({ ...ticket, ...job }, gateway, new EventStream(res))),
    );
  });

  app.post("/jobs/output", async (req, res) => {
    const request = parse(outputRequestSchema, await read(req, res, REQUEST_BYTES));
    res.set("cache-control", "no-store").json(await runner.output(request));
  });

  app.post("/jobs/end", async (req, res) => {
    await runner.end(parse(outputRequestSchema, await read(req, res, REQUEST_BYTES)));
    res.status(204).end();
  });

  app.post("/trial", async (req, res) => {
    res.json(await runner.trial(parse(trialRequestSchema, await read(req, res, REQUEST_BYTES))));
  });

  app.use((_req, res) => {
    res.status(404).json({
      error: {
        code: "not_found",
        message: "this is a worker: POST /jobs, POST /jobs/output, POST /jobs/end, POST /trial, GET /healthz",
      },
    });
  });

  const logRefusal = refusalLog(log);
  const onError: ErrorRequestHandler = (error: unknown, req, res, _next) =>
    answerError(error, req.path, res, { log, logRefusal });
  app.use(onError);
  return app;
}

/** Anyone who finds the port can connect: no request may trickle in for minutes, nor connections take all memory. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  /** How often Node looks for requests that are late; it answers 408 and closes their connections. */
  connectionsCheckingInterval: 5_000,
  /** Longer than a gateway keeps an idle connection, so that it never writes into one that is being closed. */
  keepAliveTimeout: 75_000,
};
const MOST_CONNECTIONS = 4_096;
/** A gateway has at most 256. */
const MOST_CONNECTIONS_EACH = 1_024;
/** A job's silence is filled every ten seconds: who takes nothing for so long has gone. */
const SILENT_MS = 120_000;

/** Listens at the configured address. Rejects with a ConfigError if the port is in use. */
export function listen(app: Express, { port, host }: Pick<Config, "port" | "host">): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createHttpServer(LIMITS, boundUnderWay(app));
    server.maxConnections = MOST_CONNECTIONS;
    limitConnectionsEach(server, MOST_CONNECTIONS_EACH);
    server.timeout = SILENT_MS;
    server.once("error", (error: NodeJS.ErrnoException) => {
      const message = `port ${port} of ${host} is in use: choose another with WORKER_PORT or --port`;
      reject(error.code === "EADDRINUSE" ? new ConfigError(message) : error);
    });
    server.listen(port, host, () => resolve(server));
  });
}

/** Refusals that a stranger who finds the port can cause. */
const CAUSED_BY_STRANGERS: ReadonlySet<string> = new Set([
  RefusalCode.NotAssigned,
  RefusalCode.BadRequest,
  RefusalCode.ChainUnavailable,
  RefusalCode.Draining,
]);
const REFUSALS_MS = 1_000;

type LogRefusal = (path: string, refusal: Refusal) => void;

/** Logs refusals. Strangers must not fill the disk: of those that they can cause one a second is logged, with how many were not (`unlogged`). */
function refusalLog(log: Logger): LogRefusal {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (path, refusal) => {
    const isBounded = CAUSED_BY_STRANGERS.has(refusal.code);
    if (isBounded && performance.now() - loggedAt < REFUSALS_MS) {
      unlogged += 1;
      return;
    }
    log.info({ path, code: refusal.code, err: refusal, ...(isBounded && unlogged > 0 && { unlogged }) }, "refused");
    if (isBounded) [loggedAt, unlogged] = [performance.now(), 0];
  };
}

type ErrorLog = { log: Logger; logRefusal: LogRefusal };

function answerError(error: unknown, path: string, res: Response, { log, logRefusal }: ErrorLog): void {
  if (res.headersSent) {
    log.error({ path, err: error }, "failed after the answer had begun");
    res.destroy();
  } else if (error instanceof Refusal) {
    logRefusal(path, error);
    error.send(res);
  } else if (error instanceof BodyRefused) {
    const isFull = error.fault === "no_room";
    new Refusal(isFull ? RefusalCode.Busy : RefusalCode.BadRequest, error.message).send(res);
  } else {
    log.error({ path, err: error }, "request failed");
    res.status(500).json({ error: { code: "internal_error", message: "the worker failed; its log tells why" } });
  }
}

function ticketOf(header: string | undefined): Ticket {
  const ticket = ticketSchema.safeParse(header === undefined ? null : parseJson(header));
  if (ticket.success) return ticket.data;
  const message = `the header ${ASSIGNMENT_HEADER} must hold the assignment and its signature as JSON`;
  throw new Refusal(RefusalCode.BadRequest, message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Its message would quote the text.
    throw new Refusal(RefusalCode.BadRequest, "what was sent is not JSON");
  }
}

/** A gateway's list may be of other people's making: the schema would make a complaint of each bad message before it refuses the list. */
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
