import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type RequestHandler, Router } from "express";
import { WebError } from "./errors.ts";

/** Where `scripts/build/web.ts` puts the application. */
export const WEB_DIST = fileURLToPath(new URL("../../web/dist/", import.meta.url));

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
  const assets = express.static(join(dist, "assets"), { immutable: true, maxAge: "1y", index: false });
  const missing: RequestHandler = (request) => {
    throw new WebError("not_found", `There is no ${request.originalUrl}: reload the page, a newer version is there.`);
  };
  return Router().use("/assets", assets, missing).get("/{*path}", showPage);
}
