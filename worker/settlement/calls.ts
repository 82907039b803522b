import { type Address, BaseError, encodeFunctionData, type Hex } from "viem";
import { decodeRevert } from "../../protocol/events.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { compactSignature } from "../../protocol/messages.ts";
import type { Chain } from "../chain/connect.ts";
import type { Call, OpenJob } from "./plan.ts";

/** ABI-encoded call of the escrow for one job. */
export function encodeCall(call: Call, { papers, head }: OpenJob): Hex {
  if (call === "acknowledge") {
    const signatures = [compactSignature(papers.byGateway), compactSignature(papers.byWorker)] as const;
    return encodeFunctionData({
      abi: inferenceEscrowAbi,
      functionName: "acknowledge",
      args: [papers.assignment, ...signatures],
    });
  }
  if (head === null) throw new Error(`${call} needs a completion`);
  if (call === "finalize")
    return encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "finalize", args: [head.completion] });
  const args = [head.completion, compactSignature(head.signature)] as const;
  return encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "submitProof", args });
}

/** Name of the error that a call would end with now; null if it would succeed. A caught item costs gas too, so it is not sent. */
export async function wouldFail(chain: Chain, account: Address, data: Hex): Promise<string | null> {
  try {
    await chain.client.call({ account, to: chain.deployment.contracts.InferenceEscrow, data, blockTag: "pending" });
    return null;
  } catch (error) {
    const revert = error instanceof BaseError ? revertData(error) : null;
    if (revert === null) throw error;
    return decodeRevert(revert).name;
  }
}

/** The revert data that an RPC error carries, wherever in its chain of causes. */
function revertData(error: BaseError): Hex | null {
  const found = error.walk((cause) => typeof (cause as { data?: unknown }).data === "string");
  const data = (found as { data?: unknown } | null)?.data;
  return typeof data === "string" && /^0x[0-9a-f]{8,}$/i.test(data) ? (data as Hex) : null;
}
