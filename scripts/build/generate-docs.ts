/**
 * Writes `docs/operations/settings.md` from the schemas of the gateway's and the indexer's settings. `--check` only says whether it is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { z } from "zod";
import { configSchema } from "../../api/config.ts";
import { settingsSchema as indexerSchema } from "../../indexer/launch/environment.ts";

const path = (file: string) => fileURLToPath(new URL(`../../docs/${file}`, import.meta.url));
export const SETTINGS_FILE = path("operations/settings.md");

function settingsTable(schema: z.ZodObject<Record<string, z.ZodType>>): string {
  const rows = Object.entries(schema.shape).map(([name, field]) => {
    const { success, data } = field.safeParse(undefined);
    const fallback = success ? String(data ?? "") : "**must be set**";
    return `| \`${name}\` | ${field.description} | ${fallback} |`;
  });
  return ["| variable | meaning | default |", "| --- | --- | --- |", ...rows].join("\n");
}

export function settingsText(): string {
  return `# Settings

<!-- Written by scripts/build/generate-docs.ts. Do not edit. -->

Everything comes from the environment. A process with a wrong or missing value ends at once and names it.

## Gateway

${settingsTable(configSchema)}

### Private networks

\`ALLOW_ENDPOINT_NETWORKS\` takes private ranges and addresses only. **Any client's webhook can then be sent there**: name nothing that answers strangers with secrets. Clouds' metadata addresses and plain HTTP stay refused (\`NODE_EXTRA_CA_CERTS\` for your own authority). Names come from the DNS, not from \`/etc/hosts\`; they may end in \`.internal\`, \`.local\` and \`.home.arpa\`.

## Worker

\`npx cmi-worker --help\`, or \`npm run worker -- --help\` in a clone, lists every variable and flag. \`WORKER_BACKEND=builtin\` generates text for development: **never for customers**. Raise \`WORKER_KEEP_SETTLED_SECONDS\` to your chain's finality.

## Indexer

Its port has no authentication: keep it inside.

${settingsTable(indexerSchema)}

## Traces

Gateway and worker send [traces](watch.md#traces) by OTLP/HTTP (JSON). OpenTelemetry's library reads [its variables](https://opentelemetry.io/docs/specs/otel/protocol/exporter/), these among them.

| variable | meaning | default |
| --- | --- | --- |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\` | base URL of the collector; without it nothing is sent | |
| \`OTEL_EXPORTER_OTLP_HEADERS\` | headers for it, \`name=value,name=value\`. Secret | |
| \`OTEL_TRACES_SAMPLER_ARG\` | share of requests that are traced. Where a client sends a \`traceparent\`, its flag decides | 1 |

## Deployment and tools

The head of [\`scripts/deploy.ts\`](../../scripts/deploy.ts) and \`npm run operator -- --help\` name theirs.
`;
}

if (import.meta.main) {
  const check = process.argv.includes("--check");
  const text = settingsText();
  if (!check) writeFileSync(SETTINGS_FILE, text);
  else if (readFileSync(SETTINGS_FILE, "utf8") !== text) {
    console.error(`${SETTINGS_FILE} is out of date: run \`node scripts/build/generate-docs.ts\`.`);
    process.exitCode = 1;
  }
}
