import { answersOk } from "./ready.ts";
import { rpc } from "./rpc.ts";

/**
 * Ready is an index that has what the chain has had: Ponder's own `/ready` answers a moment before the last blocks are in, and a
 * client that asked then would see yesterday's account.
 */
export async function indexIsReady(indexerUrl: string, rpcUrl: string): Promise<boolean> {
  if (!(await answersOk(`${indexerUrl}/ready`))) return false;
  try {
    // The head first: blocks that come while we ask are not waited for.
    const head = Number(await rpc<string>(rpcUrl, "eth_blockNumber"));
    const response = await fetch(`${indexerUrl}/status`, { signal: AbortSignal.timeout(5_000) });
    const chains = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
    return chains.length > 0 && chains.every((chain) => chain.block.number >= head);
  } catch {
    // Not up yet, or between two states: the next look tells.
    return false;
  }
}
