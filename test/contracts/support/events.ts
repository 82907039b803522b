/** What a transaction told, and the words in it by the names of their fields. */
import type { ContractTransactionResponse, Interface, LogDescription } from "ethers";
import {
  type AccountWord,
  decodeAccountWord,
  decodeJobWord,
  decodeUsageWord,
  type JobWord,
  type Usage,
} from "../../../protocol/words.ts";

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
