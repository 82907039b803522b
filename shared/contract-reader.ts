import {
  type Abi,
  type Address,
  type Client,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  numberToHex,
} from "viem";

type View = "pure" | "view";

/**
 * The view functions of a contract: `read("jobOf", [jobId], block)`, without a block as of now. viem's own reader brings a page 40 kB for
 * batches, redirected calls and state that is put in the place of the chain's.
 */
export function readerOf<const abi extends Abi>(client: Client, { address, abi }: { address: Address; abi: abi }) {
  return async <name extends ContractFunctionName<abi, View>>(
    functionName: name,
    args: ContractFunctionArgs<abi, View, name>,
    block?: bigint,
  ): Promise<ContractFunctionReturnType<abi, View, name>> => {
    const call = { abi: abi as Abi, functionName: functionName as string, args: args as readonly unknown[] };
    const data = await client.request({
      method: "eth_call",
      params: [{ to: address, data: encodeFunctionData(call) }, block === undefined ? "latest" : numberToHex(block)],
    });
    return decodeFunctionResult({ ...call, data }) as ContractFunctionReturnType<abi, View, name>;
  };
}
