import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { createPublicClient, defineChain, type Hex, type PublicClient } from "viem";
import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import type { Logger } from "../log.ts";

export type Chain = { client: PublicClient; deployment: Deployment; rpcUrl: string };

/** Waits for the node and makes sure that it is the chain of the deployment file. */
export async function connectChain(
  rpcUrl: string,
  deploymentFile: string,
  log: Logger,
  patienceMs = 30_000,
): Promise<Chain> {
  const deployment = parseDeployment(await readFile(deploymentFile, "utf8"), deploymentFile);
  const chain = defineChain({
    id: deployment.chainId,
    name: `chain ${deployment.chainId}`,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  // Calls of the same moment share one HTTP request: a dispatch costs one round trip, also when many arrive together.
  const transport = nodeTransport(rpcUrl, { batch: { wait: 0, batchSize: 100 }, retryCount: 2, timeout: 10_000 });
  const client = createPublicClient({ chain, transport, cacheTime: 0 });
  await waitForNode(client, rpcUrl, log, patienceMs);

  const chainId = await client.getChainId();
  if (chainId !== deployment.chainId) {
    throw new Error(
      `the node at RPC_URL is chain ${chainId}, but ${deploymentFile} is for chain ${deployment.chainId}`,
    );
  }
  const start: { hash: Hex | null } = await client.getBlock({ blockNumber: BigInt(deployment.startBlock) });
  if (start.hash !== deployment.startBlockHash) {
    throw new Error(
      `the node's block ${deployment.startBlock} is not the one in ${deploymentFile}: it is another chain, or it was reset`,
    );
  }
  return { client, deployment, rpcUrl };
}

async function waitForNode(client: PublicClient, rpcUrl: string, log: Logger, patienceMs: number): Promise<void> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      await client.getBlockNumber();
      return;
    } catch (error) {
      if (Date.now() > until) throw new Error(`no node answers at RPC_URL (${new URL(rpcUrl).host})`, { cause: error });
      log.warn({ err: error }, "the node does not answer yet");
      await setTimeout(1_000);
    }
  }
}
