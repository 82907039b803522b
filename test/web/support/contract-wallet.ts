import {
  type Abi,
  type Address,
  concat,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
} from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { KnownStack } from "../../support/api-client.ts";
import { giveGas } from "../../support/gas.ts";
import { mined } from "../../support/mined.ts";
import { testContract } from "../../support/test-contract.ts";

/** A wallet that is a contract. `account` signs as it does, `send` has it make a call; the owner pays the gas. */
export type ContractWallet = {
  account: PrivateKeyAccount;
  send: (call: { to: Address; data: Hex }) => Promise<Hex>;
};

/** Deploys one, with an owner that has gas. */
export async function deployContractWallet(stack: KnownStack): Promise<ContractWallet> {
  const owner = privateKeyToAccount(generatePrivateKey());
  await giveGas(stack, owner.address);
  const transport = http(stack.info.rpc_url);
  const client = createWalletClient({ account: owner, transport });
  const { abi, bytecode } = testContract("ContractWallet");
  const hash = await client.deployContract({ abi, bytecode, chain: null });
  const { contractAddress } = await mined(createPublicClient({ transport }), hash);
  const address = getAddress(contractAddress as Address);
  const signed = async (signature: Promise<Hex>): Promise<Hex> => concat([await signature, address]);
  return {
    account: {
      ...owner,
      address,
      signMessage: (message) => signed(owner.signMessage(message)),
      signTypedData: ((data: Parameters<typeof owner.signTypedData>[0]) => signed(owner.signTypedData(data))) as never,
    },
    send: ({ to, data }) =>
      client.sendTransaction({ to: address, data: executing(abi, to, data), gas: 1_000_000n, chain: null }),
  };
}

const executing = (abi: Abi, to: Address, data: Hex): Hex =>
  encodeFunctionData({ abi, functionName: "execute", args: [to, data] });
