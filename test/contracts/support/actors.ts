/** Keys that sign messages. The chain's own accounts only send transactions; a worker's signing key never does. */
import { type Address, getAddress, type Hex, keccak256, toBytes } from "viem";
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

/** A new job id, unique in this process: a UUIDv7 of this time, Unix seconds. Only authorized locks look at the time. */
export function jobId(at = 0): Hex {
  jobs += 1;
  const milliseconds = (at * 1_000).toString(16).padStart(12, "0");
  return `0x${milliseconds}7000${jobs.toString(16).padStart(16, "8")}`;
}
