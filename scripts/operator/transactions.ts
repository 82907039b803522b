import { type Abi, type Address, BaseError, decodeErrorResult, encodeFunctionData, type Hex } from "viem";
import * as abis from "../../protocol/generated/abi.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import { firstLine } from "../verify/errors.ts";
import type { Operator, Output } from "./context.ts";
import { OperatorError } from "./errors.ts";

/** A call of one of the protocol's contracts. */
export type Call = { name: string; address: Address; abi: Abi; functionName: string; args: readonly unknown[] };

/** Errors of all contracts: a governor's call fails with those of its target. */
const ERRORS: Abi = Object.values(abis)
  .flat()
  .filter((item) => item.type === "error");

/**
 * Shows the transaction and, with `--yes`, sends it and waits until it is mined. It is simulated in either case, so that what would
 * revert is told with its reason before anything is signed.
 */
export async function submit(operator: Operator, call: Call, what: string): Promise<Output> {
  const { signer } = operator;
  const from = signer.account.address;
  const data = encodeCall(call);
  await simulate(operator, from, call.address, data, what);
  const { name: contract, address: to, functionName, args } = call;
  const shown = { what, from, to, contract, function: functionName, args };
  const lines = [what, `  from ${from}`, `  to   ${contract} ${to}`, `  ${functionName}(${args.map(show).join(", ")})`];
  if (!operator.sends) {
    return { text: [...lines, "Not sent. Repeat with --yes to send it."].join("\n"), json: { sent: false, ...shown } };
  }
  const hash = await signer.sendTransaction({ to, data });
  const receipt = await receiptOf(operator.client, hash);
  if (receipt.status !== "success")
    throw new Error(`${what}: transaction ${hash} reverted in block ${receipt.blockNumber}`);
  return {
    text: [...lines, `Sent: ${hash}, mined in block ${receipt.blockNumber}.`].join("\n"),
    json: { sent: true, ...shown, transaction: hash, block: Number(receipt.blockNumber) },
  };
}

export const encodeCall = ({ abi, functionName, args }: Call): Hex =>
  encodeFunctionData({ abi, functionName, args: [...args] });

/** Throws with the contract's own error when the call would revert. */
export async function simulate(operator: Operator, from: Address, to: Address, data: Hex, what: string): Promise<void> {
  try {
    await operator.client.call({ account: from, to, data });
  } catch (error) {
    throw new OperatorError(`${what}: it would revert: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const inner = error instanceof BaseError ? error.walk((one) => (one as { data?: unknown }).data !== undefined) : null;
  const raw = (inner as { data?: Hex | { data?: Hex } } | null)?.data;
  const data = typeof raw === "string" ? raw : raw?.data;
  if (data === undefined || data === "0x") return firstLine(error);
  try {
    const { errorName, args } = decodeErrorResult({ abi: ERRORS, data });
    return `${errorName}(${(args ?? []).map(show).join(", ")})`;
  } catch {
    // An error that no contract of ours declares, a token's for instance.
    return firstLine(error);
  }
}

/** An argument as text; structs as JSON with integers in decimal. */
export function show(value: unknown): string {
  return typeof value === "object"
    ? JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v))
    : String(value);
}
