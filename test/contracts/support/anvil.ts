/** A real node for what a simulated chain cannot show: restarts, other chain ids, transactions that wait. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createTestClient, http, publicActions, walletActions } from "viem";
import { freePort } from "../../../scripts/dev/ports.ts";

const require = createRequire(import.meta.url);

export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/** Starts the node itself: killing the wrapper script of the package would leave it running. */
export async function startAnvil(options: { port?: number; args?: string[] } = {}) {
  const port = options.port ?? (await freePort());
  const packageFile = require.resolve(
    `@foundry-rs/anvil-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}/package.json`,
  );
  const binary = join(dirname(packageFile), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
  const node = spawn(binary, ["--port", String(port), "--silent", ...(options.args ?? [])], { stdio: "ignore" });
  const rpcUrl = `http://127.0.0.1:${port}`;
  const client = createTestClient({ mode: "anvil", transport: http(rpcUrl, { retryCount: 100, retryDelay: 50 }) })
    .extend(publicActions)
    .extend(walletActions);
  await client.getChainId();
  return { rpcUrl, port, client, stop: () => stop(node) };
}

async function stop(node: ChildProcess): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return;
  const exited = once(node, "exit");
  node.kill("SIGKILL");
  await exited;
}
