/** Accounts of a development chain and their money, of wallets and of the operator: the test stablecoin is minted by whoever asks. */
import {
  type Address,
  BaseError,
  createPublicClient,
  createWalletClient,
  type Hex,
  type LocalAccount,
  NonceTooLowError,
  parseEther,
} from "viem";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { compactSignature } from "../../protocol/messages.ts";
import { toUnits } from "../../protocol/money.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import { nodeTransport } from "../../shared/node-url.ts";
import { signConsent } from "../operator/consent.ts";

/**
 * Accounts that every development chain funds, from a public mnemonic: worthless elsewhere. Taken in fixed roles, so
 * that a lost data folder never leaves a chain whose gateway nobody can act for.
 */
export const DEPLOYER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const GATEWAY = {
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  privateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
} as const;
/** Number of the one operator that a development deployment admits. */
export const OPERATOR = 1;
export const OPERATOR_ADMIN = {
  address: "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  privateKey: "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
} as const;

type Chain = { rpc_url: string; contracts: Record<string, string> };
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
  await mined(
    chain,
    await again(() => rich.sendTransaction({ to: owner.address, value: parseEther("5"), chain: null })),
  );
  const mint = { ...coin, functionName: "mint", args: [owner.address, units] } as const;
  await mined(chain, await again(() => rich.writeContract(mint)));
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

/** Test files fund wallets from one account side by side: one that lost its nonce to another takes the next. */
async function again(send: () => Promise<Hex>, tries = 20): Promise<Hex> {
  try {
    return await send();
  } catch (error) {
    const lostNonce = error instanceof BaseError && error.walk((one) => one instanceof NonceTooLowError) !== null;
    if (!lostNonce || tries === 1) throw error;
    return again(send, tries - 1);
  }
}

async function mined({ rpc_url }: Chain, hash: Hex): Promise<void> {
  const client = createPublicClient({ transport: nodeTransport(rpc_url) });
  const { status } = await receiptOf(client, hash, { interval: 50 });
  if (status !== "success") throw new Error(`transaction ${hash} reverted while a development account was funded`);
}
