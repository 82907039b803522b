import { readFileSync } from "node:fs";
import type { Abi, Hex } from "viem";

/** ABI and creation code of a contract of the tests, which `npm run compile` compiled (scripts/build/test-contracts.ts). */
export function testContract(name: string): { abi: Abi; bytecode: Hex } {
  return JSON.parse(readFileSync(new URL(`contracts/${name}.json`, import.meta.url), "utf8"));
}
