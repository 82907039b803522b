/** `--service`: what a worker learns from the service, and what it says of an answer that it cannot read. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { withService } from "../../../worker/cli/service.ts";
import { ConfigError, type Terminal } from "../../../worker/console.ts";

const SERVICE = "https://service.example";
const PAGE = "<!doctype html><title>Welcome</title>";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "service-"));
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true, force: true });
});

const terminal = { say: () => {} } as unknown as Terminal;
const ask = (answer: string, values: Record<string, string>) => {
  vi.stubGlobal("fetch", async () => new Response(answer));
  return withService({ WORKER_SERVICE: SERVICE, WORKER_DATA_DIR: folder, ...values }, terminal);
};
const HAS_FILE = { DEPLOYMENT_FILE: "d.json" };

it("takes the node that the service names", async () => {
  const values = await ask('{"rpc_url":"https://node.example/"}', HAS_FILE);
  expect(values["RPC_URL"]).toBe("https://node.example/");
});

it.each([
  ["a page instead of its settings", PAGE, HAS_FILE, "config"],
  ["settings without a node", "{}", HAS_FILE, "config"],
  ["a node that is no URL", '{"rpc_url":"node"}', HAS_FILE, "config"],
  ["a page instead of its contracts", PAGE, {}, "deployment.json"],
  ["contracts of another form", "{}", {}, "deployment.json"],
])("names the URL that answers with %s", async (_what, answer, values, path) => {
  const error = await ask(answer, values).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toContain(`${SERVICE}/app/api/${path}`);
  expect(readdirSync(folder)).toEqual([]);
});
