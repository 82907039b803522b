import type { AppConfig } from "../../contract.ts";

/** The public configuration. The server writes it into the page (index.html), so that no page waits for a request. */
export const app: AppConfig = JSON.parse(document.getElementById("config")?.textContent ?? "");
