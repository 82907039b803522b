/** Readers of single arguments: each says which one is wrong, with which value, and what is wanted. */
import { type Address, getAddress, type Hex, isAddress } from "viem";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { OperatorError } from "./errors.ts";

/** Options of all commands, as parseArgs gives them. */
export type Flags = Record<string, string | boolean | undefined>;

/** The positional at `index`. */
export function positional(list: readonly string[], index: number, name: string): string {
  const value = list[index];
  if (value === undefined) throw new OperatorError(`<${name}> is missing`);
  return value;
}

export function readAddress(value: string, name: string): Address {
  if (!isAddress(value)) throw new OperatorError(`${name}: "${value}" is not an address (or its checksum is wrong)`);
  return getAddress(value);
}

export function readJobId(value: string): Hex {
  const jobId = /^0x[0-9a-fA-F]{32}$/.test(value) ? (value.toLowerCase() as Hex) : fromApiJobId(value.toLowerCase());
  if (jobId === null) throw new OperatorError(`"${value}" is not a job id: job_ and 32 hex digits`);
  return jobId;
}

/** A whole number from `least` to `most`. */
export function readInteger(value: string | boolean | undefined, name: string, least: number, most: number): number {
  if (typeof value !== "string") throw new OperatorError(`${name} is missing`);
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    throw new OperatorError(`${name} ${value} must be a whole number from ${least} to ${most}`);
  }
  return number;
}

/** A number of base units, which may exceed 2^53. */
export function readUnits(value: string, name: string): bigint {
  if (!/^\d{1,60}$/.test(value) || BigInt(value) === 0n) {
    throw new OperatorError(`${name} ${value} must be a whole number of base units above 0`);
  }
  return BigInt(value);
}

/** A time as ISO 8601 with a zone, in Unix seconds. */
export function readTime(value: string | boolean | undefined, name: string): number {
  const time = typeof value === "string" && /T.*(Z|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new OperatorError(`${name} ${value ?? ""} must be a time with its zone, e.g. 2030-01-31T12:00:00Z`);
  }
  return Math.floor(time / 1000);
}

export function readText(value: string | boolean | undefined, name: string): string {
  if (typeof value !== "string" || value === "") throw new OperatorError(`${name} is missing`);
  return value;
}

/** One of a few words. */
export function readChoice<T extends string>(value: string, name: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new OperatorError(`${name} "${value}" must be one of ${choices.join(", ")}`);
  return found;
}
