import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Deployment } from "../../protocol/deployment.ts";
import { INDEX_BUILD_PREFIX } from "../../protocol/index-schema.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
// What decides about the contents of the tables. Comments count: a re-index too many costs seconds, one too few is wrong data.
const SOURCES = [
  "indexer/ponder.*.ts",
  "indexer/src/**/*.ts",
  "indexer/schema/*.ts",
  "indexer/lib/*.ts",
  "protocol/**/*.ts",
];

const digest = (parts: string[]): string => createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 10);

/** Prefix of the schemas of all builds for one deployment. */
export function deploymentPrefix({ chainId, startBlockHash, contracts }: Deployment): string {
  const addresses = Object.values(contracts).map((address) => address.toLowerCase());
  return `${INDEX_BUILD_PREFIX}${digest([String(chainId), startBlockHash, ...addresses])}_`;
}

/** Schema that this build of the indexer fills for a deployment. */
export function buildSchema(deployment: Deployment): string {
  // Ponder's package.json is not among its exports.
  const ponder = JSON.parse(readFileSync(new URL("../../package.json", import.meta.resolve("ponder")), "utf8")) as {
    version: string;
  };
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  return (
    deploymentPrefix(deployment) +
    digest([ponder.version, ...files.flatMap((file) => [file, readFileSync(root + file, "utf8")])])
  );
}
