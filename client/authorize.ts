/** Sets a wallet up: a new key that signs for its jobs, and its limits, registered on the chain. */
import {
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  type LocalAccount,
} from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { ACCOUNT_FROZEN } from "../protocol/words.ts";
import { nodeTransport } from "../shared/node-url.ts";

/** `dailyLimit`: credits that may be locked on a UTC day; the limit that the wallet has stays without it. */
export type AuthorizeOptions = { rpcUrl: string; escrow: Address; wallet: LocalAccount; dailyLimit?: number };

/**
 * Makes an authorization key and registers it. From then on every job of the wallet needs its signature, whoever has the API key.
 * `keep` is given the private key before the chain knows it: a key that is lost locks the wallet's jobs until it sets another one.
 */
export async function authorize(
  { rpcUrl, escrow, wallet, dailyLimit }: AuthorizeOptions,
  keep: (privateKey: Hex) => void,
): Promise<{ key: Address; transactions: Hex[] }> {
  const transport = nodeTransport(rpcUrl);
  const reader = createPublicClient({ transport });
  const sender = createWalletClient({ account: wallet, transport });
  const abi = inferenceEscrowAbi;
  const { id, flags } = await reader.readContract({
    address: escrow,
    abi,
    functionName: "accountOf",
    args: [wallet.address],
  });
  if (id === 0) throw new Error(`The wallet ${wallet.address} has no credits yet: buy some first.`);
  const privateKey = generatePrivateKey();
  keep(privateKey);
  const key = privateKeyToAddress(privateKey);
  // A wallet that has frozen its spending stays frozen.
  const limits = [true, dailyLimit ?? 0, (flags & ACCOUNT_FROZEN) !== 0] as const;
  const calls = [
    ...(dailyLimit === undefined ? [] : [encodeFunctionData({ abi, functionName: "setLimits", args: limits })]),
    encodeFunctionData({ abi, functionName: "setAuthorizationKey", args: [key] }),
  ];
  const transactions: Hex[] = [];
  for (const data of calls) {
    const hash = await sender.sendTransaction({ to: escrow, data, chain: null });
    const { status } = await receiptOf(reader, hash);
    if (status !== "success") throw new Error(`${hash} reverted: the wallet's settings are as before.`);
    transactions.push(hash);
  }
  return { key, transactions };
}
