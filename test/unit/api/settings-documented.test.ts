/** What an operator can set is in docs/operations, and nothing else is; links of the pages lead somewhere. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../../api/config.ts";
import { settingsSchema as indexerSchema } from "../../../indexer/launch/environment.ts";
import { SETTINGS_FILE, settingsText } from "../../../scripts/build/generate-docs.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}${path}`, "utf8");
const files = (folder: string, end: string): string[] =>
  readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);
const found = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map((match) => match[1] as string)),
];

/** Variables in the first column of the tables: what the page documents, not what it mentions. */
const settings = read("docs/operations/settings.md")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => found(line.split("|")[1] as string, /`([A-Z][A-Z0-9_]+)`/g));

/** `env["X"]`, `env.X`, `process.env.X`, `required(env, "X")`, and the like. */
const READS = /\benv(?:\.|\["|\("|, ")([A-Z][A-Z0-9_]{3,})\b/g;
const indexer = [...new Set([...files("indexer", ".ts")].flatMap((file) => found(read(file), READS)))];
/** Set by the launcher for Ponder, which it runs in its own process; DEBUG stands in text of Ponder's that the launcher leaves out. */
const HANDED_ON = ["PORT", "PONDER_TELEMETRY_DISABLED", "INDEXER_SCHEMA", "INDEXER_HEADS_URL", "DEBUG"];

describe("docs/operations/settings.md", () => {
  it("is what the schemas give now (else run scripts/build/generate-docs.ts)", () => {
    expect(readFileSync(SETTINGS_FILE, "utf8")).toBe(settingsText());
  });
  it.each(Object.entries({ ...configSchema.shape, ...indexerSchema.shape }))(
    "says what %s means",
    (_, { description }) => {
      expect(description).toMatch(/\w/);
    },
  );
  it.each(indexer.filter((name) => !HANDED_ON.includes(name)))("has the indexer's %s", (name) => {
    expect(settings).toContain(name);
  });
  it.each(found(read("scripts/deploy/config.ts"), READS))(
    "leaves the deployment's %s to the program's head",
    (name) => {
      expect(read("scripts/deploy.ts").split("*/")[0]).toContain(name);
    },
  );

  it("has nothing that no code reads", () => {
    const code = ["api", "webhooks", "web/server", "worker", "indexer", "operator", "bench", "scripts"]
      .flatMap((folder) => files(folder, ".ts"))
      .map(read)
      .join("\n");
    expect(settings.filter((name) => !code.includes(name))).toEqual([]);
  });
});

describe("the log lines by which an operator is told to act", () => {
  const code = ["api", "webhooks", "web/server", "worker", "indexer"]
    .flatMap((folder) => files(folder, ".ts"))
    .map(read)
    .join("\n");
  it.each(["watch", "incidents"])("of docs/operations/%s.md are those of the programs", (page) => {
    const rows = read(`docs/operations/${page}.md`)
      .split("\n")
      .filter((line) => /log line|\| "|^- "/i.test(line));
    const quoted = rows.flatMap((row) => found(row, /"([^"]+)"/g));
    expect(quoted.length).toBeGreaterThan(0);
    expect(quoted.filter((line) => !code.includes(line))).toEqual([]);
  });
});

describe("links of all pages", () => {
  // The guide has addresses of the site; test/api/documentation.test.ts follows them.
  const packages = ["contracts", "client", "verify", "worker"].map((name) => `${name}/README.md`);
  const own = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "test/README.md", "deploy/README.md"];
  const pages = [...own, ...packages, ...files("docs", ".md").filter((page) => !page.startsWith("docs/guide/"))];
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
