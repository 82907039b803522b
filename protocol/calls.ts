/** Calls of the escrow as a node takes and answers them. */
import {
  type ContractFunctionArgs,
  type ContractFunctionName,
  encodeFunctionData,
  type Hex,
  prepareEncodeFunctionData,
} from "viem";
import { inferenceEscrowAbi } from "./generated/abi.ts";

type Escrow = typeof inferenceEscrowAbi;
type Name = ContractFunctionName<Escrow>;
type Args<N extends Name> = ContractFunctionArgs<Escrow, "pure" | "view" | "nonpayable" | "payable", N>;

const prepared = new Map<Name, { abi: Escrow; functionName: Hex }>();

/**
 * Calldata of a function of the escrow. viem alone hashes the function's signature at each call; here it is hashed once.
 *
 * @example escrowCall("jobOf", [jobId]) // 0x and the selector, then the job id in a word
 */
export function escrowCall<N extends Name>(functionName: N, args: Args<N>): Hex {
  let call = prepared.get(functionName);
  if (call === undefined) {
    call = prepareEncodeFunctionData({ abi: inferenceEscrowAbi, functionName } as never) as never as typeof call;
    prepared.set(functionName, call as NonNullable<typeof call>);
  }
  return encodeFunctionData({ ...call, args } as never);
}
