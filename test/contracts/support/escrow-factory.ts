/** For tests of the constructor; everything else deploys by the Ignition module. */
import { ethers } from "./chain.ts";

/** The escrow's factory, linked to a dispute library. */
export async function escrowFactory() {
  const DisputeLogic = await (await ethers.deployContract("DisputeLogic")).getAddress();
  return await ethers.getContractFactory("InferenceEscrow", { libraries: { DisputeLogic } });
}
