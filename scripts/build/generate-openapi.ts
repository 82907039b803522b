/** Writes `docs/openapi.json` from the schemas that validate requests and describe answers. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "../../api/openapi/document.ts";

export const OPENAPI_FILE = fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));

/** The file's text: for the local stack's address; a gateway serves it with its own. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument("http://127.0.0.1:4000"), null, 2)}\n`;
}

if (import.meta.main) writeFileSync(OPENAPI_FILE, openApiText());
