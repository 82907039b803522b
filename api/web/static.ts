import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type RequestHandler, Router } from "express";
import { WebError } from "./errors.ts";

/** Where `scripts/build/web.ts` puts the application. */
const WEB_DIST = fileURLToPath(new URL("../../web/dist/", import.meta.url));

/** The built application: its files under names with a hash of their content, and the page for every other path. */
export function staticFiles(dist: string = WEB_DIST): Router {
  const page = join(dist, "index.html");
  const showPage: RequestHandler = (_request, response) => {
    if (!existsSync(page)) {
      throw new WebError(
        "not_built",
        "The web application is not built: run `node scripts/build/web.ts`, or `npm start`.",
      );
    }
    response.setHeader("cache-control", "no-cache");
    response.sendFile(page);
  };
  const files = join(dist, "assets");
  const assets = express.static(files, { immutable: true, maxAge: "1y", index: false });
  const missing: RequestHandler = (request) => {
    throw new WebError("not_found", `There is no ${request.originalUrl}: reload the page, a newer version is there.`);
  };
  return Router().use("/assets", precompressed(files), assets, missing).get("/{*path}", showPage);
}

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
