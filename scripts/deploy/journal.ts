/**
 * The Ignition journal next to the deployment file, and the mark of the chain it belongs to.
 *
 * Ignition alone would trust an old journal on a new development chain and send nothing. The mark (a block of the chain
 * before the first transaction) and the code at the journaled addresses tell the chains apart.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Address, type Hex, numberToHex, type PublicClient } from "viem";
import { ConfigError, DEV_CHAIN_ID } from "./config.ts";

/** The last block before the first transaction of a deployment. */
export type ChainMark = { chainId: number; startBlock: number; startBlockHash: Hex };

/** Name of the one deployment inside a journal folder. */
export const DEPLOYMENT_ID = "protocol";

/** Folder that belongs to a deployment file; what Ignition takes as its own root. */
export function journalFolder(deploymentFile: string): string {
  return `${deploymentFile.replace(/\.json$/, "")}.ignition`;
}

/** The mark of the deployment in `folder`: the one begun there, or a new one when it was begun on another chain. */
export async function openJournal(
  folder: string,
  client: PublicClient,
  log: (line: string) => void,
): Promise<ChainMark> {
  const chainId = await client.getChainId();
  const file = join(folder, "chain.json");
  if (existsSync(file)) {
    const mark = JSON.parse(readFileSync(file, "utf8")) as ChainMark;
    const lost = await whatIsLost(folder, mark, chainId, client);
    if (lost === null) return mark;
    if (chainId !== DEV_CHAIN_ID) {
      throw new ConfigError(
        `${folder} is the journal of another chain (${lost}). Check RPC_URL; to deploy anew, move that folder away.`,
      );
    }
    log(`the chain of ${folder} is gone (${lost}): its journal is dropped`);
  }
  dropJournal(folder);
  const block = await client.getBlock();
  const mark: ChainMark = { chainId, startBlock: Number(block.number), startBlockHash: block.hash };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, JSON.stringify(mark));
  return mark;
}

/** Forgets a deployment. */
export function dropJournal(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** How the node's chain differs from the marked one; null if it is the same. */
export async function isOtherChain(mark: ChainMark, chainId: number, client: PublicClient): Promise<string | null> {
  if (mark.chainId !== chainId) return `it was of chain id ${mark.chainId}`;
  const block = await client.request({ method: "eth_getBlockByNumber", params: [numberToHex(mark.startBlock), false] });
  return block?.hash === mark.startBlockHash ? null : `block ${mark.startBlock} is another one`;
}

/** Why the journal cannot be of this chain; null if it can. */
async function whatIsLost(
  folder: string,
  mark: ChainMark,
  chainId: number,
  client: PublicClient,
): Promise<string | null> {
  const other = await isOtherChain(mark, chainId, client);
  if (other !== null) return other;
  for (const [name, address] of Object.entries(deployedAddresses(folder))) {
    if (!(await client.getCode({ address }))) return `no code at ${name} ${address}`;
  }
  return null;
}

function deployedAddresses(folder: string): Record<string, Address> {
  const file = join(folder, "deployments", DEPLOYMENT_ID, "deployed_addresses.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, Address>) : {};
}
