import type { Address, Hex } from "viem";
import { z } from "zod";

const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "not an address");
const hash = z.custom<Hex>((v) => typeof v === "string" && /^0x[0-9a-f]{64}$/.test(v), "not a 32-byte hash");

/** Chain id of anvil and of `hardhat node`: the only one on which money is not real. */
export const DEV_CHAIN_ID = 31_337;

/** The file that describes a deployment; scripts/deploy.ts writes it, every part reads it. */
export const deploymentSchema = z.object({
  chainId: z.number().int().positive(),
  /** Hash of block `startBlock`: tells this chain from another one with the same id. */
  startBlockHash: hash,
  /** First block that can hold an event of the contracts. */
  startBlock: z.number().int().nonnegative(),
  contracts: z.object({
    InferenceEscrow: address,
    ModelCatalog: address,
    WorkerRegistry: address,
    ProtocolTreasury: address,
    ArbitrationPanel: address,
    ProtocolGovernor: address,
    ProtocolTimelock: address,
    DisputeLogic: address,
    OperatorLogic: address,
    ServiceToken: address,
    Stablecoin: address,
  }),
});

export type Deployment = z.infer<typeof deploymentSchema>;
export type Contracts = Deployment["contracts"];

/** Parses the text of a deployment file; throws a message that names the file. */
export function parseDeployment(text: string, file: string): Deployment {
  const result = deploymentSchema.safeParse(JSON.parse(text));
  if (!result.success) throw new Error(`${file} is not a deployment file: ${z.prettifyError(result.error)}`);
  return result.data;
}
