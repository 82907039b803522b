/** A real `llama-server` (LLAMA_SERVER) with a tiny model of random weights. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/dev/ports.ts";
import { eventually } from "../support/api-client.ts";
import { tinyGguf } from "./tiny-gguf.ts";

export const MODEL = "qwen3-1.7b";

type Options = {
  /** Tokens that each slot holds. */
  context?: number;
  /** Requests that run at once; further ones wait in the server. */
  slots?: number;
  /** Further flags. */
  flags?: readonly string[];
};

export type LlamaServer = {
  /** Base URL of its OpenAI API. */
  baseUrl: string;
  /** Starts it, after a `kill` too. Resolves once it answers. */
  start: () => Promise<void>;
  /** Ends it at once, in the middle of whatever it does. */
  kill: () => Promise<void>;
  /** Ends it and removes its model. */
  remove: () => Promise<void>;
};

export async function llamaServer({ context = 512, slots = 2, flags = [] }: Options = {}): Promise<LlamaServer> {
  const folder = mkdtempSync(join(tmpdir(), "gguf-"));
  const file = join(folder, "tiny.gguf");
  writeFileSync(file, tinyGguf({ contextLength: context }));
  const port = await freePort();
  let server: ChildProcess | undefined;
  // One thread: two layers are faster done than handed around. The context is shared by the slots.
  const own = ["-m", file, "--alias", MODEL, "--port", String(port), "-t", "1"];
  const shared = ["-c", String(context * slots), "-np", String(slots)];
  const start = async () => {
    server = spawn(process.env["LLAMA_SERVER"] as string, [...own, ...shared, "--log-disable", ...flags], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const failed = once(server, "error").then(([error]) => Promise.reject(error));
    const health = async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok === true;
    await Promise.race([eventually(health, (ok) => ok), failed]);
  };
  const kill = async () => {
    if (server?.exitCode === null && server.signalCode === null && server.kill("SIGKILL")) await once(server, "exit");
  };
  await start();
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    start,
    kill,
    remove: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
