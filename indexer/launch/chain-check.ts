import type pg from "pg";
import { createPublicClient, type PublicClient } from "viem";
import type { Deployment } from "../../protocol/deployment.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { LaunchError } from "./environment.ts";
import { buildSchemas, finalizedCheckpoint, newestCachedBlock } from "./schemas.ts";

type Log = (line: string) => void;

// Ponder counts a block of a chain it does not know as final after so many more; a development chain is such a chain.
const FINALITY = 30;
const PATIENCE_MS = 3_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Connects to the node and checks that it serves the chain of the deployment. */
export async function openChain(rpcUrl: string, deployment: Deployment, log: Log): Promise<PublicClient> {
  const chain = createPublicClient({ transport: nodeTransport(rpcUrl, { retryCount: 1, timeout: 5_000 }) });
  const { chainId, startBlock, startBlockHash } = deployment;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = await chain.getChainId();
      if (found !== chainId)
        throw new LaunchError(`RPC_URL serves chain ${found}, the deployment is on chain ${chainId}`);
      break;
    } catch (error) {
      if (error instanceof LaunchError) throw error;
      if (attempt === 20)
        throw new LaunchError(
          `no node answers at RPC_URL (${new URL(rpcUrl).host}): start the chain, or correct RPC_URL`,
        );
      if (attempt === 0) log(`waiting for the node at ${new URL(rpcUrl).host}`);
      await pause(500);
    }
  }
  const block = await blockAt(chain, startBlock);
  if (block?.hash !== startBlockHash) {
    throw new LaunchError(
      `DEPLOYMENT_FILE is of another chain than RPC_URL serves (block ${startBlock} differs): deploy again`,
    );
  }
  return chain;
}

/** Why the stored index cannot be continued on this chain; null if it can. */
export async function contradiction(client: pg.Client, chain: PublicClient, chainId: number): Promise<string | null> {
  const cached = await newestCachedBlock(client, chainId);
  if (cached !== null) {
    const block = await patientBlockAt(chain, cached.number);
    if (block === null) return `the chain has no block ${cached.number}`;
    if (block.hash !== cached.hash) return `block ${cached.number} has another hash`;
  }
  for (const schema of await buildSchemas(client)) {
    const stored = await finalizedCheckpoint(client, schema);
    if (stored === null || stored.chainId !== chainId) continue;
    // The checkpoint has no hash. A block that was mined again, later, has another time.
    const block = await patientBlockAt(chain, stored.blockNumber);
    if (block === null) return `the chain has no block ${stored.blockNumber}`;
    if (Number(block.timestamp) !== stored.blockTime) return `block ${stored.blockNumber} has another time`;
    if (!(await isFinal(chain, stored.blockNumber)))
      return `the chain ends less than ${FINALITY} blocks after block ${stored.blockNumber}`;
  }
  return null;
}

/** Ponder refuses to start when what it stored as final no longer is: a chain that lost its last blocks, and stands still. */
async function isFinal(chain: PublicClient, blockNumber: number): Promise<boolean> {
  return await eventually(async () => {
    const head = await chain.getBlockNumber({ cacheTime: 0 });
    return Math.max(0, Number(head) - FINALITY) >= blockNumber || null;
  }).then((final) => final === true);
}

/** A node behind a load balancer may lag: only a block that stays away is missing. */
async function patientBlockAt(chain: PublicClient, blockNumber: number) {
  return await eventually(() => blockAt(chain, blockNumber));
}

async function blockAt(chain: PublicClient, blockNumber: number) {
  try {
    return await chain.getBlock({ blockNumber: BigInt(blockNumber) });
  } catch (error) {
    if ((error as Error).name === "BlockNotFoundError") return null;
    throw error;
  }
}

async function eventually<T>(look: () => Promise<T | null>): Promise<T | null> {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    const found = await look();
    if (found !== null || Date.now() > end) return found;
    await pause(250);
  }
}
