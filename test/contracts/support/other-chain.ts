/** A simulated chain that is no development chain: there the contracts keep their real minima. */
/// <reference path="../../../types/ethers-contracts/hardhat.d.ts" />
import { network } from "hardhat";

export const OTHER_CHAIN_ID = 1;
export const { ethers: otherChain } = await network.create({ override: { chainId: OTHER_CHAIN_ID } });
