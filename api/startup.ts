/** What a gateway asks the chain before it starts. */
import type { Deployment } from "../protocol/deployment.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import type { Rpc } from "./chain/rpc.ts";
import type { Config } from "./config.ts";
import type { JobTimes } from "./jobs/context.ts";

/** Rejects when the node's chain is not the deployment's. */
export async function checkChain(rpc: Rpc, { chainId }: Deployment): Promise<void> {
  const actual = await rpc.client.getChainId();
  if (actual !== chainId) throw new Error(`RPC_URL is chain ${actual}, the deployment file is for chain ${chainId}.`);
}

/** The deployment's windows, which nobody can change, and this gateway's own. */
export async function readTimes({ client }: Rpc, config: Config): Promise<JobTimes> {
  const { completion, inclusion, dispute, arbitration } = await client.readContract({
    address: config.deployment.contracts.InferenceEscrow,
    abi: inferenceEscrowAbi,
    functionName: "windows",
  });
  return {
    completion,
    inclusion,
    dispute,
    arbitration,
    acknowledge: config.ACKNOWLEDGE_SECONDS,
    firstToken: config.FIRST_TOKEN_SECONDS,
    lock: config.LOCK_SECONDS,
  };
}
