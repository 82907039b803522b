/** The released contracts: what is audited is what is deployed. `npm run compile` writes the folder `contracts/release/`. */
import { readFileSync } from "node:fs";
import type { Artifact } from "@nomicfoundation/ignition-core";
import type { Hex } from "viem";
import type { Contracts } from "../../protocol/deployment.ts";

/** By name: the test stablecoin too, which development chains get. */
export const RELEASED = [
  "InferenceEscrow",
  "DisputeLogic",
  "OperatorLogic",
  "ModelCatalog",
  "WorkerRegistry",
  "ProtocolTreasury",
  "ArbitrationPanel",
  "ProtocolGovernor",
  "ProtocolTimelock",
  "ServiceToken",
  "TestStablecoin",
] as const;
export type ReleasedName = (typeof RELEASED)[number];

/** The compiler's layout of a contract's state. */
export type StorageLayout = {
  storage: StorageField[];
  types: Record<string, { label: string; members?: StorageField[] }>;
};
type StorageField = { slot: string; offset: number; label: string; type: string };

export type ReleasedContract = Pick<
  Artifact,
  | "_format"
  | "contractName"
  | "sourceName"
  | "inputSourceName"
  | "abi"
  | "bytecode"
  | "deployedBytecode"
  | "linkReferences"
  | "deployedLinkReferences"
> & {
  compiler: string;
  storageLayout: StorageLayout;
  /** The byte ranges of the runtime bytecode that are zero until the constructor fills them. */
  immutables: { start: number; length: number }[];
};

/** The released contract of this name; throws when there is none. */
export function released(name: string): ReleasedContract {
  return JSON.parse(
    readFileSync(new URL(`../../contracts/release/${name}.json`, import.meta.url), "utf8"),
  ) as ReleasedContract;
}

/** Creation and runtime bytecode with the addresses of the libraries that it calls. */
export function linked(contract: ReleasedContract, at: Contracts): { creation: Hex; runtime: Hex } {
  const filled = (bytecode: string, references: Artifact["linkReferences"]): Hex =>
    Object.values(references)
      .flatMap((libraries) => Object.entries(libraries))
      .flatMap(([name, places]) => places.map(({ start }) => ({ start, address: at[name as keyof Contracts] })))
      .reduce((code, { start, address }) => overwritten(code, start, address.slice(2)), bytecode)
      .toLowerCase() as Hex;
  return {
    creation: filled(contract.bytecode, contract.linkReferences),
    runtime: filled(contract.deployedBytecode, contract.deployedLinkReferences),
  };
}

/** Bytes from `start` on replaced; the text begins with 0x. */
export function overwritten(code: string, start: number, bytes: string): string {
  const from = 2 + 2 * start;
  return code.slice(0, from) + bytes + code.slice(from + bytes.length);
}
