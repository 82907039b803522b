/** What a gateway asks the chain before it starts. */
import type { Address } from "viem";
import type { Deployment } from "../protocol/deployment.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import type { Rpc } from "./chain/rpc.ts";
import type { Config } from "./config.ts";
import type { JobTimes } from "./jobs/context.ts";

/** Rejects when the node's chain is not the deployment's, or its escrow does not know this gateway. */
export async function checkDeployment(rpc: Rpc, deployment: Deployment, signer: Address): Promise<void> {
  const { contracts, chainId } = deployment;
  const actual = await rpc.client.getChainId();
  if (actual !== chainId) throw new Error(`RPC_URL is chain ${actual}, the deployment file is for chain ${chainId}.`);
  const [id] = await rpc.client.readContract({
    address: contracts.InferenceEscrow,
    abi: inferenceEscrowAbi,
    functionName: "gatewayOf",
    args: [signer],
  });
  if (id === 0) {
    throw new Error(
      `The escrow does not know the gateway ${signer}: its owner must call addGateway, or set another GATEWAY_PRIVATE_KEY.`,
    );
  }
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
