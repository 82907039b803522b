/** Sends a transaction; this file is loaded when somebody acts. */
import { type Abi, type Address, BaseError, encodeFunctionData, type Hex } from "viem";
import { simulateContract, writeContract } from "wagmi/actions";
import { walletConfig } from "./config.ts";
import { chainOf, mined } from "./mined.ts";

/** A call of a contract, as viem takes it. */
export type ContractCall = {
  address: Address;
  abi: Abi | readonly unknown[];
  functionName: string;
  args: readonly unknown[];
  /** The words for what the wallet is asked to do; `Confirm the transaction` without them. */
  what?: string;
};

/** The progress of a transaction; `hash` is known from `mining` on, and is another one at the end if the wallet raised the fee. */
export type Progress = { step: "wallet"; what: string } | { step: "mining"; hash: Hex } | { step: "done"; hash: Hex };

/** Sends a call and waits until it is mined; `transact` says how. */
export async function send(
  request: Omit<ContractCall, "what"> & { abi: Abi; account: Address },
  onProgress: (progress: Progress) => void,
  what: string,
): Promise<void> {
  await simulateContract(walletConfig, request);
  onProgress({ step: "wallet", what });
  const hash = await writeContract(walletConfig, request);
  onProgress({ step: "mining", hash });
  const sent = { hash, from: request.account, to: request.address, data: encodeFunctionData(request) };
  const receipt = await mined(chainOf(walletConfig.getClient()), sent);
  if (receipt.status === "reverted") {
    // Between trying and mining something changed; the same call on the chain of now says what.
    await simulateContract(walletConfig, request);
    throw new BaseError("The transaction was reverted, and the chain does not say why.");
  }
  onProgress({ step: "done", hash: receipt.transactionHash });
}
