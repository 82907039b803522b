/** Expectations that many files share, and what a transaction told by the names of its fields. */

import { expect } from "chai";
import type { Addressable, BaseContract, ContractTransactionResponse, Interface, LogDescription } from "ethers";
import * as abis from "../../../protocol/generated/abi.ts";
import {
  type AccountWord,
  decodeAccountWord,
  decodeJobWord,
  decodeUsageWord,
  type JobWord,
  type Usage,
} from "../../../protocol/words.ts";
import { ethers } from "./chain.ts";

// Expectations that many files share.

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

// What a transaction told, and the words in it by the names of their fields.

type Contract = { interface: Interface; getAddress(): Promise<string> };

/** The contract's events of this name in a transaction, in their order. */
export async function eventsOf(
  sent: Promise<ContractTransactionResponse>,
  contract: { interface: unknown; getAddress(): Promise<string> },
  name: string,
): Promise<LogDescription[]> {
  const { interface: code, getAddress } = contract as Contract;
  const address = await getAddress.call(contract);
  const logs = (await (await sent).wait())?.logs ?? [];
  return logs.flatMap((log) => {
    const event = log.address === address ? code.parseLog(log) : null;
    return event?.name === name ? [event] : [];
  });
}

/** For `withArgs`: a word of an account with these fields. */
export const accountWith = (fields: Partial<AccountWord>) => (word: bigint) => has(decodeAccountWord(word), fields);

/** For `withArgs`: a word of a job with these fields. */
export const jobWith = (fields: Partial<JobWord>) => (word: bigint) => has(decodeJobWord(word), fields);

/** For `withArgs`: a word of a settlement's usage with these fields. */
export const usageWith = (fields: Partial<Usage>) => (word: bigint) => has(decodeUsageWord(word), fields);

function has<T extends object>(word: T, fields: Partial<T>): true {
  const other = (Object.keys(fields) as (keyof T)[]).filter((field) => word[field] !== fields[field]);
  if (other.length === 0) return true;
  throw new Error(other.map((field) => `${String(field)} is ${word[field]}, not ${fields[field]}`).join("; "));
}

// A struct that a contract returned, by field name.

export function fieldsOf(struct: unknown): Record<string, bigint> {
  return (struct as { toObject(): Record<string, bigint> }).toObject();
}
