/** Keys that sign messages. The chain's own accounts only send transactions; a worker's signing key never does. */
import type { Address, Hex } from "viem";
import { getAddress, keccak256, toBytes } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";

/** A reproducible key by name. */
export function signingKey(name: string): PrivateKeyAccount {
  return privateKeyToAccount(keccak256(toBytes(`test key of ${name}`)));
}

/** A reproducible address nobody holds a key of. */
export function someAddress(name: string): Address {
  return getAddress(`0x${keccak256(toBytes(`test address of ${name}`)).slice(26)}`);
}

let jobs = 0;

/** A new job id: 16 bytes, unique in this process. */
export function jobId(): Hex {
  jobs += 1;
  return `0x018f000000007000${jobs.toString(16).padStart(16, "8")}`;
}
