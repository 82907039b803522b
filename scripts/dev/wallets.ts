/** Accounts of a development chain and their money, of wallets and of the operator: the test stablecoin is minted by whoever asks. */
import {
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  getContract,
  type Hex,
  type LocalAccount,
  parseEther,
} from "viem";
import { signConsent } from "../../operator/consent.ts";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { compactSignature } from "../../protocol/messages.ts";
import { toUnits } from "../../protocol/money.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import { nodeTransport } from "../../shared/node-transport.ts";
import { sendInTurn } from "../../shared/nonce-race.ts";

/** An account that every development chain funds: a lost data folder never leaves a chain whose gateway nobody can act for. */
export const GATEWAY = {
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  privateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
} as const;
/** Number of the one operator that a development deployment admits. */
export const OPERATOR = 1;

type Chain = { rpc_url: string; contracts: Record<string, string> };
type Funding = { funder: LocalAccount; owner: LocalAccount; credits: number };
/** `signers`: keys of its gateways. `reserve`: credits. */
type OperatorFunding = {
  operator: number;
  admin: LocalAccount;
  signers: readonly LocalAccount[];
  funder: LocalAccount;
  reserve: number;
};

/** Sends a transaction of a development account, and waits until it is mined. */
async function send(
  { rpc_url }: Pick<Chain, "rpc_url">,
  account: LocalAccount,
  transaction: { to: Address; data?: Hex; value?: bigint },
): Promise<Hex> {
  const transport = nodeTransport(rpc_url);
  const wallet = createWalletClient({ account, transport });
  // Test files fund wallets from one account side by side.
  const hash = await sendInTurn(() => wallet.sendTransaction({ ...transaction, chain: null }));
  const { status } = await receiptOf(createPublicClient({ transport }), hash, { interval: 50 });
  if (status !== "success") throw new Error(`transaction ${hash} of a development account reverted`);
  return hash;
}

/** Mints the stablecoins for so many credits, of which the escrow may take them from now on. */
async function mint(chain: Chain, { funder, owner, credits }: Funding): Promise<void> {
  const { InferenceEscrow, Stablecoin } = chain.contracts as { InferenceEscrow: Address; Stablecoin: Address };
  const coin = { abi: testStablecoinAbi } as const;
  const units = toUnits(credits);
  const data = encodeFunctionData({ ...coin, functionName: "mint", args: [owner.address, units] });
  await send(chain, funder, { to: Stablecoin, data });
  const approval = encodeFunctionData({ ...coin, functionName: "approve", args: [InferenceEscrow, units] });
  await send(chain, owner, { to: Stablecoin, data: approval });
}

/** Gives `owner` gas and the stablecoins for `credits`, which the escrow may take from now on. */
export async function provideTokens(chain: Chain, funding: Funding): Promise<void> {
  await send(chain, funding.funder, { to: funding.owner.address, value: parseEther("5") });
  await mint(chain, funding);
}

/** The same, and buys the credits; the wallet's operator is the development chain's. */
export async function provideCredits(chain: Chain, funding: Funding): Promise<void> {
  await provideTokens(chain, funding);
  const args = [funding.credits, OPERATOR] as const;
  const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "deposit", args });
  await send(chain, funding.owner, { to: chain.contracts["InferenceEscrow"] as Address, data });
}

/** Gives an operator its signers and its reserve; what it has is left as it is. */
export async function provideOperator(chain: Chain, funding: OperatorFunding): Promise<void> {
  const { operator, admin, signers, funder, reserve } = funding;
  const client = createPublicClient({ transport: nodeTransport(chain.rpc_url) });
  const address = chain.contracts["InferenceEscrow"] as Address;
  const escrow = getContract({ address, abi: inferenceEscrowAbi, client });
  const addSigners = async (): Promise<void> => {
    const known = await Promise.all(signers.map((key) => escrow.read.signerOf([key.address])));
    const added = signers.filter((_, i) => known[i]?.[0] === 0);
    if (added.length === 0) return;
    const place = { chainId: await client.getChainId(), escrow: address };
    const consents = await Promise.all(added.map((key) => signConsent(key, place, { operator, admin: admin.address })));
    const args = [operator, added.map((key) => key.address), consents.map(compactSignature), []] as const;
    const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "rotateSigners", args });
    await send(chain, admin, { to: address, data });
  };
  const fund = async (): Promise<void> => {
    const { reserve: free, held } = await escrow.read.operatorOf([operator]);
    if (free + held > 0) return;
    await mint(chain, { funder, owner: funder, credits: reserve });
    const data = encodeFunctionData({
      abi: inferenceEscrowAbi,
      functionName: "fundReserve",
      args: [operator, reserve],
    });
    await send(chain, funder, { to: address, data });
  };
  await Promise.all([addSigners(), fund()]);
}
