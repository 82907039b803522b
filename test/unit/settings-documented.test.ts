/** What an operator can set and watch is in docs/operations, and nothing else is. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SETTINGS as GATEWAY_SETTINGS } from "../../api/config.ts";
import { SETTINGS as WORKER_SETTINGS } from "../../worker/config.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");
const files = (folder: string, end: string): string[] =>
  readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);
const found = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map((match) => match[1] as string)),
];

/** Variables in the first column of the tables: what a page documents, not what it mentions. */
const documented = (page: string): string[] =>
  read(page)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => found(line.split("|")[1] as string, /`([A-Z][A-Z0-9_]+)`/g));
const PAGES = ["docs/operations/settings.md", "docs/operations/settings-others.md"];
const settings = PAGES.flatMap(documented);

/** `env["X"]`, `env.X`, `process.env.X`, `required(env, "X")`, and the like. */
const READS = /\benv(?:\.|\["|\("|, ")([A-Z][A-Z0-9_]{3,})\b/g;
const indexer = [...new Set([...files("indexer", ".ts")].flatMap((file) => found(read(file), READS)))];
/** Set by the launcher for Ponder, which it runs in its own process. */
const HANDED_ON = ["PORT", "PONDER_TELEMETRY_DISABLED", "INDEXER_SCHEMA", "INDEXER_HEADS_URL"];

describe("docs/operations/settings", () => {
  it.each(GATEWAY_SETTINGS)("has the gateway's %s", (name) => expect(settings).toContain(name));
  it.each(WORKER_SETTINGS.map(({ env }) => env))("has the worker's %s", (name) => expect(settings).toContain(name));
  it.each(indexer.filter((name) => !HANDED_ON.includes(name)))("has the indexer's %s", (name) => {
    expect(settings).toContain(name);
  });
  it.each(found(read("scripts/deploy/config.ts"), READS))("has the deployment's %s", (name) => {
    expect(documented("docs/operations/settings-others.md")).toContain(name);
  });

  it("has nothing that no code reads", () => {
    const code = ["api", "worker", "indexer", "scripts"]
      .flatMap((folder) => files(folder, ".ts"))
      .map(read)
      .join("\n");
    expect(settings.filter((name) => !code.includes(name))).toEqual([]);
  });

  it("names each variable that the indexer cannot do without", () => {
    expect(indexer).toEqual(expect.arrayContaining(["DATABASE_URL", "RPC_URL", "DEPLOYMENT_FILE", "INDEXER_PORT"]));
  });
});

describe("docs/operations/watch.md", () => {
  const code = read("api/observe/metrics.ts") + read("api/webhooks/service.ts");
  const exported = found(code, /"(gateway_\w+)"/g);
  const watched = found(read("docs/operations/watch.md"), /^\| `(gateway_\w+)`/gm);

  it("has every metric of the gateway, and no other", () => {
    expect(exported.length).toBeGreaterThan(20);
    expect(watched.toSorted()).toEqual(exported.toSorted());
  });
});

describe("links of the operations pages", () => {
  const pages = ["docs/operations.md", ...files("docs/operations", ".md")];
  it.each(pages)("%s leads to files and headings that exist", (page) => {
    const broken = found(read(page), /\]\(([^)\s]+)\)/g).filter((link) => {
      if (link.startsWith("http")) return false;
      const [path = "", anchor] = link.split("#");
      const file = path === "" ? `${ROOT}${page}` : fileURLToPath(new URL(path, `file://${ROOT}${page}`));
      if (!existsSync(file)) return true;
      return anchor !== undefined && !headings(readFileSync(file, "utf8")).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

/** Anchors as GitHub makes them. */
const headings = (text: string): string[] =>
  found(text, /^#+ (.+)$/gm).map((title) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
