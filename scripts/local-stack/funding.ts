/** A wallet of a development chain, from its first gas to its credits: the test stablecoin is minted by whoever asks. */
import {
  type Address,
  createPublicClient,
  createWalletClient,
  type Hex,
  type PrivateKeyAccount,
  parseEther,
} from "viem";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { toUnits } from "../../protocol/money.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import type { StackFile } from "./stack-file.ts";

type Chain = Pick<StackFile, "rpc_url" | "contracts">;
type Funding = { funder: PrivateKeyAccount; owner: PrivateKeyAccount; credits: number };

/** Gives `owner` gas and the stablecoins for `credits`, which the escrow may take from now on. */
export async function provideTokens(chain: Chain, { funder, owner, credits }: Funding): Promise<void> {
  const { InferenceEscrow, Stablecoin } = chain.contracts as Record<string, Address>;
  const transport = nodeTransport(chain.rpc_url);
  const rich = createWalletClient({ account: funder, transport });
  const wallet = createWalletClient({ account: owner, transport });
  const coin = { address: Stablecoin as Address, abi: testStablecoinAbi, chain: null } as const;
  const units = toUnits(credits);
  const approval = [InferenceEscrow as Address, units] as const;
  await mined(chain, await rich.sendTransaction({ to: owner.address, value: parseEther("5"), chain: null }));
  await mined(chain, await rich.writeContract({ ...coin, functionName: "mint", args: [owner.address, units] }));
  await mined(chain, await wallet.writeContract({ ...coin, functionName: "approve", args: approval }));
}

/** The same, and buys the credits. */
export async function provideCredits(chain: Chain, funding: Funding): Promise<void> {
  await provideTokens(chain, funding);
  const wallet = createWalletClient({ account: funding.owner, transport: nodeTransport(chain.rpc_url) });
  const address = chain.contracts["InferenceEscrow"] as Address;
  const escrow = { address, abi: inferenceEscrowAbi, chain: null } as const;
  await mined(chain, await wallet.writeContract({ ...escrow, functionName: "deposit", args: [funding.credits] }));
}

async function mined({ rpc_url }: Chain, hash: Hex): Promise<void> {
  const client = createPublicClient({ transport: nodeTransport(rpc_url) });
  const { status } = await receiptOf(client, hash, { interval: 50 });
  if (status !== "success") throw new Error(`transaction ${hash} reverted while a wallet was funded`);
}
