/** Expectations that many files share. */
import { expect } from "chai";
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
