/** The web application: its front door at /, its pages and files below /app, and below /app/api the routes that only it uses (docs/web.md). */
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import type pg from "pg";
import { isHex } from "viem";
import { z } from "zod";
import type { Rpc } from "../../api/chain/rpc.ts";
import type { Config } from "../../api/config.ts";
import { getAccount, ifIndexed } from "../../api/db/index-reads.ts";
import { quoted, WebError } from "../../api/errors.ts";
import { answerSeconds, type FoundJob } from "../../api/jobs/job-reader.ts";
import type { JobTimes } from "../../api/jobs/next-step.ts";
import { mount, type PartsOf } from "../../api/routes/define-route.ts";
import { type Bodies, readForm, takeBody } from "../../api/routes/json-body.ts";
import { burstLimit, noStore } from "../../api/routes/limits.ts";
import { addressOf, inTheme, pathOf, themeOf, validate } from "../../api/routes/request.ts";
import { JOB_ROUTES, WEBHOOK_ROUTES } from "../../api/routes/routes.ts";
import { OWN_PATHS, PATHS } from "../../shared/web-paths.ts";
import type * as contract from "../contract.ts";
import { type AccountParts, webAccountRoutes } from "./account.ts";
import { type ExplorerParts, explorerRoutes } from "./explorer.ts";
import { type AskedWorkers, networkRoutes } from "./network.ts";
import { Newcomers } from "./newcomers.ts";
import { operatorCostsRoute } from "./operator-costs.ts";
import { previewRoutes, previewTags } from "./preview.ts";
import { demoRoute, deploymentRoute, publicConfig } from "./public.ts";
import { requireSession, type Session, Sessions } from "./sessions.ts";
import { ContractSignatures, Nonces, type SignInCheck, verifySignIn } from "./sign-in.ts";
import { spendingRoutes } from "./spending.ts";
import { type StatusParts, statusRoute } from "./status.ts";
import { deliveryRoutes, settingsRoutes } from "./webhooks.ts";

/** Requests a second from one address that lead to questions to the node; nodes are metered. */
const NODE_PER_SECOND = 50;
/** The same for transactions and their logs, which can be megabytes. */
const EXPLORED_PER_SECOND = 20;
/** The same for what is read of all workers and models, on the connections that jobs need. */
const DIRECTORY_PER_SECOND = 50;

/** The parts of the gateway that the application needs: those of its own routes, and of the routes that `/v1` has as well. */
type WebParts = Omit<AccountParts, "escrow"> &
  StatusParts &
  PartsOf<typeof JOB_ROUTES> &
  PartsOf<typeof WEBHOOK_ROUTES> & {
    config: Config;
    pool: pg.Pool;
    rpc: Rpc;
    head: ExplorerParts["head"];
    operator: { readonly id: number };
    workers: AskedWorkers;
    times: Pick<JobTimes, "dispute" | "inclusion">;
    /** All request bodies of the process together have one bound. */
    bodies: Bodies;
  };

/** The front door, for browsers, and everything below `/app`. */
export function webApp(parts: WebParts): Router {
  const shown = publicConfig(parts.config, parts.operator.id, parts.times);
  const page = showPage(JSON.stringify(shown), previewTags(parts.config));
  return Router()
    .get(PATHS.front, browsersOnly, securityHeaders, page(200, firstOf("front")), webErrorHandler)
    .use("/app", securityHeaders, Router().use("/api", webApi(parts, shown)).use(staticFiles(page)), webErrorHandler);
}

/** A program that asks for `/` learns that there is nothing here. */
const browsersOnly: RequestHandler = (request, response, next) => {
  response.vary("accept");
  next(request.accepts(["json", "html"]) === "html" ? undefined : "route");
};

function webApi(parts: WebParts, shown: object): Router {
  const { config, pool, rpc, head, webhooks } = parts;
  const { origin } = new URL(config.APP_URL);
  const { chainId, contracts } = config.deployment;
  const escrow = contracts.InferenceEscrow;
  const sessions = new Sessions(pool, origin);
  const nonces = new Nonces(pool, config.MASTER_KEY, config.OTHER_MASTER_KEYS);

  const api = Router();
  api.use("/previews", previewRoutes({ reader: pool, config }));
  api.use(burstLimit(config.BURST_PER_SECOND), noStore, sameOriginOnly(origin), readForm(parts.bodies));
  // Open to everybody, also with a wallet that has nothing, and each asks the node, some of them a dozen times.
  api.use(
    ["/session", "/account", "/settings", "/webhooks"],
    burstLimit(Math.min(config.BURST_PER_SECOND, NODE_PER_SECOND)),
  );
  api.use(["/tx", "/explorer"], burstLimit(Math.min(config.BURST_PER_SECOND, EXPLORED_PER_SECOND)));
  api.use(
    ["/workers", "/models", "/operators", "/network", "/disputes"],
    burstLimit(Math.min(config.BURST_PER_SECOND, DIRECTORY_PER_SECOND)),
  );
  api.get("/config", (_request, response) => void response.json(shown));
  api.get("/deployment.json", deploymentRoute(config));
  // While the index is being built, nobody is taken for a newcomer.
  const newcomers = new Newcomers(async (wallet) => (await ifIndexed(getAccount(pool, wallet), true)) !== null);
  const contractWallets = new ContractSignatures(rpc);
  api.use(sessionRoutes({ sessions, nonces, newcomers, contracts: contractWallets, audience: { origin, chainId } }));
  api.use(explorerRoutes({ rpc, head, reader: pool, contracts }));
  api.get("/operators/:id/gas", operatorCostsRoute({ rpc, reader: pool, escrow }));
  api.use(networkRoutes(pool, parts.workers, parts.operator.id));
  api.get("/status", statusRoute(parts));
  api.get("/demo", demoRoute(config));

  const session = requireSession(sessions);
  api.use(webAccountRoutes({ ...parts, escrow }, session));
  api.use(spendingRoutes(parts, session));
  const showJob = (found: FoundJob) => ({ ...found.job, answer_seconds: answerSeconds(found) });
  api.use("/jobs", session);
  mount(api, JOB_ROUTES, { ...parts, showJob });
  api.use("/settings", session, settingsRoutes(webhooks.context));
  api.use(["/webhooks", "/deliveries"], session);
  api.use(deliveryRoutes(webhooks.context));
  mount(api, WEBHOOK_ROUTES, parts);
  api.use(unknown);
  return api;
}

const signInSchema = z.object({
  message: z.string().max(4_000),
  signature: z.custom<`0x${string}`>((v) => isHex(v) && v.length <= 20_000, "must be hex"),
});

const shownSession = ({ wallet, expiresAt }: Session) => ({ wallet, expires_at: expiresAt.toISOString() });

/**
 * Below /app/api:
 * - `POST /nonce` → `{nonce, expires_at}` for a sign-in message
 * - `POST /session` `{message, signature}` → session and cookie
 * - `GET /session` → `{session: {wallet, expires_at} | null, ended}`; `ended` if the cookie's session is over
 * - `DELETE /session` → 204
 */
type SessionParts = SignInCheck & { sessions: Sessions; newcomers: Newcomers };

function sessionRoutes({ sessions, newcomers, ...check }: SessionParts): Router {
  const nonce: RequestHandler = (_request, response) => {
    const { nonce, expiresAt } = check.nonces.issue();
    response.json({ nonce, expires_at: expiresAt.toISOString() });
  };

  const signIn: RequestHandler = async (request, response) => {
    const signed = takeBody(request, (body) => validate(signInSchema, body));
    const wallet = await verifySignIn({ ...signed, from: addressOf(request) }, check);
    await newcomers.admit(wallet, request);
    const earlier = sessions.token(request);
    if (earlier !== null) await sessions.close(earlier);
    const { token, session } = await sessions.open(wallet);
    sessions.setCookie(response, token);
    response.json({ session: shownSession(session), ended: false } satisfies contract.SessionState);
  };

  // Asked by every visitor, so nobody being signed in is an answer and no error.
  const current: RequestHandler = async (request, response) => {
    const token = sessions.token(request);
    const session = token === null ? null : await sessions.find(token);
    const ended = token !== null && session === null;
    if (ended) sessions.setCookie(response, null);
    response.json({ session: session && shownSession(session), ended } satisfies contract.SessionState);
  };

  const signOut: RequestHandler = async (request, response) => {
    const token = sessions.token(request);
    if (token !== null) await sessions.close(token);
    sessions.setCookie(response, null);
    response.status(204).end();
  };

  return Router().post("/nonce", nonce).post("/session", signIn).get("/session", current).delete("/session", signOut);
}

const unknown: RequestHandler = (request) => {
  throw new WebError("not_found", `There is no ${request.method} ${pathOf(request)}.`);
};

/** Answers a `WebError`; everything else is for the API's own handler. */
const webErrorHandler: ErrorRequestHandler = (error, _request, response, next) => {
  if (!(error instanceof WebError) || response.headersSent) return next(error);
  response.status(error.status).json({ error: { code: error.code, message: error.message } });
};

/**
 * The application runs its own scripts and styles only, and is shown in no frame. It talks to its own host, and to the node that a visitor
 * names to check a job with.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self' https: http://127.0.0.1:* http://localhost:*",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const securityHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-frame-options", "DENY");
  response.setHeader("cross-origin-opener-policy", "same-origin-allow-popups");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
  next();
};

/** The application sends it with every change. No form can, and a script of another site needs our leave. */
const CLIENT_HEADER = "x-requested-by";

const READS = new Set(["GET", "HEAD"]);

/**
 * Refuses requests that another site makes a browser send, beside the cookie's SameSite=Strict. A change needs the
 * application's own Origin, and a header that only its own scripts can set: no CORS preflight is answered.
 */
function sameOriginOnly(origin: string): RequestHandler {
  return (request, _response, next) => {
    if (READS.has(request.method)) return next();
    const from = request.headers.origin;
    if (from !== origin) {
      throw new WebError(
        "origin_not_allowed",
        `Requests from ${from === undefined ? "no origin" : quoted(from)} are refused: this application lives at ${origin}.`,
      );
    }
    if (request.headers[CLIENT_HEADER] === undefined) {
      throw new WebError("header_missing", `The request lacks the header ${CLIENT_HEADER}: web.`);
    }
    next();
  };
}

/** The folder into which `scripts/build/web.ts` puts the application. */
const WEB_DIST = fileURLToPath(new URL("../dist/", import.meta.url));

type Built = Record<string, { file: string; imports?: string[] }>;

/** Tags that load a file of the application, and what it imports, at once: otherwise they wait for the script that imports them. */
function preloads(file: string): string {
  const built: Built = JSON.parse(readFileSync(join(WEB_DIST, "manifest.json"), "utf8"));
  const needed = new Set<string>();
  const need = (name: string) => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const one of built[name]?.imports ?? []) need(one);
  };
  need(file);
  const tags = [...needed].map((name) => `<link rel="modulepreload" crossorigin href="/app/${built[name]?.file}">`);
  return tags.join("");
}

/**
 * The one page, which holds what `GET /config` answers, so that it begins without a request. `tags`: of its link preview, by the page's path.
 * `first`: its code that is needed first.
 */
const showPage =
  (config: string, tags: (path: string) => string) =>
  (status: number, first?: string): RequestHandler =>
  (request, response) => {
    const page = join(WEB_DIST, "index.html");
    if (!existsSync(page)) {
      throw new WebError(
        "not_built",
        "The web application is not built: run `node scripts/build/web.ts`, or `npm start`.",
      );
    }
    // No setting can end the element: in JSON a "<" can always be written as an escape.
    const begin = `id="config">`;
    const text = readFileSync(page, "utf8")
      .replace(begin, () => begin + config.replaceAll("<", "\\u003c"))
      .replace("</head>", (end) => tags(pathOf(request)) + (first === undefined ? "" : preloads(first)) + end);
    response.status(status).setHeader("cache-control", "no-cache").vary("cookie").type("html");
    response.send(inTheme(text, themeOf(request)));
  };

/**
 * The built application: its files under names with a hash of their content, and the page for every other path. A path that is no page of
 * the application gets it with 404.
 */
function staticFiles(page: ReturnType<typeof showPage>): Router {
  const files = join(WEB_DIST, "assets");
  const assets = express.static(files, { immutable: true, maxAge: "1y", index: false, redirect: false });
  const missing: RequestHandler = (request) => {
    throw new WebError("not_found", `There is no ${pathOf(request)}: reload the page, a newer version is there.`);
  };
  const router = Router().use("/assets", precompressed(files), assets, missing);
  for (const [name, path] of Object.entries(PATHS)) {
    if (path.startsWith("/app")) router.get(path.slice("/app".length) || "/", page(200, firstOf(name)));
  }
  return router.get("/{*path}", page(404));
}

/** The code that a page needs first: what signs in on a wallet's own pages, elsewhere the file with the page's name. */
const firstOf = (name: string): string => (name in OWN_PATHS ? "src/wallet/own-pages.tsx" : `src/pages/${name}.tsx`);

const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Sends a file as the build compressed it, to browsers that take it. */
function precompressed(files: string): RequestHandler {
  return (request, response, next) => {
    const name = request.path.slice(1);
    const file = join(files, name);
    // One name, no path: nothing outside the folder can be asked for.
    if (!/^[\w.-]+\.(js|css|svg)$/.test(name)) return next();
    const found = ENCODINGS.find(([encoding, end]) => request.acceptsEncodings(encoding) && existsSync(file + end));
    response.vary("accept-encoding");
    if (found === undefined) return next();
    response.type(extname(name)).setHeader("content-encoding", found[0]);
    response.sendFile(file + found[1], { immutable: true, maxAge: "1y" });
  };
}
