/** For tests of the constructor; everything else deploys by the Ignition module. */
import type { Addressable } from "ethers";
import { DEFAULT_COMPENSATION_CAP, DEFAULT_DURATIONS, windowsOf } from "../../../scripts/deploy/protocol-settings.ts";
import { ethers } from "./chain.ts";
import type { BareWorld } from "./world.ts";

/** The escrow's factory, linked to new libraries. */
export async function escrowFactory(on = ethers) {
  const DisputeLogic = await (await on.deployContract("DisputeLogic")).getAddress();
  const OperatorLogic = await (await on.deployContract("OperatorLogic")).getAddress();
  return await on.getContractFactory("InferenceEscrow", { libraries: { DisputeLogic, OperatorLogic } });
}

/** Deploys an escrow beside that of a world, with something else in one place. */
export async function deployEscrow(
  { token, catalog, registry, panel, owner, treasury }: BareWorld,
  change: { token?: Addressable; treasury?: Addressable | string; feeBps?: number; cap?: number },
) {
  const to = { token, treasury, feeBps: 0, cap: DEFAULT_COMPENSATION_CAP, ...change };
  const contracts = [to.token, catalog, registry, panel, owner, owner, to.treasury] as const;
  return await (await escrowFactory()).deploy(...contracts, to.feeBps, to.cap, windowsOf(DEFAULT_DURATIONS));
}
