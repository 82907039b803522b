/** Money of a development chain, of wallets and of the operator: the test stablecoin is minted by whoever asks. */
import { type Address, createPublicClient, createWalletClient, type Hex, type LocalAccount, parseEther } from "viem";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { compactSignature } from "../../protocol/messages.ts";
import { toUnits } from "../../protocol/money.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import { signConsent } from "../operator/consent.ts";
import { OPERATOR } from "./accounts.ts";
import type { StackFile } from "./stack-file.ts";

type Chain = Pick<StackFile, "rpc_url" | "contracts">;
type Funding = { funder: LocalAccount; owner: LocalAccount; credits: number };
type OperatorFunding = {
  operator: number;
  admin: LocalAccount;
  /** Keys of its gateways. */
  signers: readonly LocalAccount[];
  funder: LocalAccount;
  /** Credits of its reserve. */
  reserve: number;
};
/** More than any of the transactions below takes: nothing has to be estimated, so all can be sent at once. */
const GAS = 1_000_000n;

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

/** The same, and buys the credits; the wallet's operator is the development chain's. */
export async function provideCredits(chain: Chain, funding: Funding): Promise<void> {
  await provideTokens(chain, funding);
  const wallet = createWalletClient({ account: funding.owner, transport: nodeTransport(chain.rpc_url) });
  const address = chain.contracts["InferenceEscrow"] as Address;
  const escrow = { address, abi: inferenceEscrowAbi, chain: null } as const;
  await mined(
    chain,
    await wallet.writeContract({ ...escrow, functionName: "deposit", args: [funding.credits, OPERATOR] }),
  );
}

/** Gives an operator its signers and its reserve; what it has is left as it is. */
export async function provideOperator(chain: Chain, funding: OperatorFunding): Promise<void> {
  const { operator, admin, signers, funder, reserve } = funding;
  const { InferenceEscrow, Stablecoin } = chain.contracts as { InferenceEscrow: Address; Stablecoin: Address };
  const transport = nodeTransport(chain.rpc_url);
  const client = createPublicClient({ transport });
  const escrow = { address: InferenceEscrow, abi: inferenceEscrowAbi, chain: null, gas: GAS } as const;
  const coin = { address: Stablecoin, abi: testStablecoinAbi, chain: null, gas: GAS } as const;
  const [chainId, { reserve: free, held }, known] = await Promise.all([
    client.getChainId(),
    client.readContract({ ...escrow, functionName: "operatorOf", args: [operator] }),
    Promise.all(
      signers.map(({ address }) => client.readContract({ ...escrow, functionName: "signerOf", args: [address] })),
    ),
  ]);
  const sent: Hex[] = [];
  const added = signers.filter((_, i) => known[i]?.[0] === 0);
  if (added.length > 0) {
    const place = { chainId, escrow: InferenceEscrow };
    const consents = await Promise.all(added.map((key) => signConsent(key, place, { operator, admin: admin.address })));
    const args = [operator, added.map(({ address }) => address), consents.map(compactSignature), []] as const;
    const wallet = createWalletClient({ account: admin, transport });
    sent.push(await wallet.writeContract({ ...escrow, functionName: "rotateSigners", args }));
  }
  if (free + held === 0) {
    const units = toUnits(reserve);
    const wallet = createWalletClient({ account: funder, transport });
    let nonce = await client.getTransactionCount({ address: funder.address, blockTag: "pending" });
    const next = () => ({ nonce: nonce++ });
    sent.push(
      await wallet.writeContract({ ...coin, ...next(), functionName: "mint", args: [funder.address, units] }),
      await wallet.writeContract({ ...coin, ...next(), functionName: "approve", args: [InferenceEscrow, units] }),
      await wallet.writeContract({ ...escrow, ...next(), functionName: "fundReserve", args: [operator, reserve] }),
    );
  }
  for (const hash of sent) await mined(chain, hash);
}

async function mined({ rpc_url }: Chain, hash: Hex): Promise<void> {
  const client = createPublicClient({ transport: nodeTransport(rpc_url) });
  const { status } = await receiptOf(client, hash, { interval: 50 });
  if (status !== "success") throw new Error(`transaction ${hash} reverted while a development account was funded`);
}
