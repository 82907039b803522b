/** Expectations that many files share. */
import { expect } from "chai";
import type { Addressable, BaseContract } from "ethers";
import * as abis from "../../../protocol/generated/abi.ts";
import { ethers } from "./chain.ts";

/** The custom errors of all contracts: each has one meaning, whichever contract reverts with it. */
const ERRORS = new ethers.Contract(
  ethers.ZeroAddress,
  Object.values(abis).flatMap((abi) => abi.filter(({ type }) => type === "error")),
);

/** The call reverts with this custom error; with exactly these arguments, if any are named. */
export async function expectRevert(call: Promise<unknown>, error: string, ...args: unknown[]): Promise<void> {
  const reverting = expect(call).to.be.revertedWithCustomError(ERRORS, error);
  await (args.length === 0 ? reverting : reverting.withArgs(...args));
}

type Holder = Addressable | string;

/** The call changes what these holders have of the token by so much. */
export async function expectTokens(
  call: Promise<unknown>,
  token: BaseContract,
  holders: Holder | Holder[],
  changes: bigint | number | (bigint | number)[],
): Promise<void> {
  await expect(call).to.changeTokenBalances(ethers, token, [holders].flat(), [changes].flat());
}
