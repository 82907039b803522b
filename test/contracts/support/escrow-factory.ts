/** For tests of the constructor; everything else deploys by the Ignition module. */
import { ethers } from "./chain.ts";

/** The escrow's factory, linked to a dispute library. */
export async function escrowFactory(on = ethers) {
  const DisputeLogic = await (await on.deployContract("DisputeLogic")).getAddress();
  return await on.getContractFactory("InferenceEscrow", { libraries: { DisputeLogic } });
}
