import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { GENESIS_TIME } from "../../../scripts/dev/chain.ts";
import { freePort } from "../../../scripts/dev/ports.ts";
import { Part, ROOT } from "../../support/processes.ts";

const require = createRequire(import.meta.url);

export type Chain = {
  url: string;
  ws: string;
  port: number;
  rpc: (method: string, params?: unknown[]) => Promise<unknown>;
  stop: (signal?: NodeJS.Signals) => Promise<void>;
};

/** anvil's real binary (the npm wrapper would outlive a kill). With `state` the chain is kept between starts. */
export async function startChain({ state, port }: { state?: string; port?: number } = {}): Promise<Chain> {
  const target = `@foundry-rs/anvil-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}/package.json`;
  // The platform package is a dependency of the wrapper, so it is found from there.
  const wrapper = createRequire(require.resolve("@foundry-rs/anvil/package.json"));
  const file = join(dirname(wrapper.resolve(target)), "bin/anvil");
  const onPort = port ?? (await freePort());
  // With a first block of its own time, a chain that was started twice has two, and a third start takes either.
  const keep =
    state === undefined ? [] : ["--state", state, "--state-interval", "1", "--timestamp", String(GENESIS_TIME)];
  const part = new Part("anvil", file, ["--port", String(onPort), "--quiet", ...keep], { cwd: ROOT });
  const url = `http://127.0.0.1:${onPort}`;
  const rpc = async (method: string, params: unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  };
  await part.until(async () => (await rpc("eth_chainId")) !== undefined);
  // Its clock began at the time of block 0.
  if (state !== undefined) await rpc("anvil_setTime", [Math.floor(Date.now() / 1_000)]);
  return { url, ws: url.replace("http", "ws"), port: onPort, rpc, stop: (signal = "SIGINT") => part.stop(signal) };
}
