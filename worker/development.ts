/** On a development chain, gives a worker that joins it stake, gas, and a place in the catalog for any model. */
import {
  type Address,
  type EIP1193RequestFn,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  numberToHex,
  parseEther,
} from "viem";
import { modelCatalogAbi } from "../protocol/generated/abi.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { sendInTurn } from "../shared/nonce-race.ts";
import type { Listing } from "./catalog-names.ts";
import { type ChainView, readCatalog } from "./chain.ts";
import { ConfigError } from "./console.ts";

/** anvil's and Hardhat's third account, which holds the SVC supply of a development chain. */
const SUPPLY_HOLDER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const POLL_MS = 100;

/** Gives an account what it lacks: `stake` in base units of SVC, `gas` in wei. */
export async function giveDevelopmentFunds(
  chain: ChainView,
  to: Address,
  { stake, gas }: { stake: bigint; gas: bigint },
): Promise<void> {
  if (gas > 0n) await setBalance(chain, to, (await chain.client.getBalance({ address: to })) + gas + parseEther("1"));
  if (stake === 0n) return;
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, stake] });
  await sendAs(chain, SUPPLY_HOLDER, { to: chain.deployment.contracts.ServiceToken, data });
}

/** Lists those models that the catalog lacks, in the name of its owner, the timelock: on a development chain nobody waits for a vote. */
export async function listModels(chain: ChainView, listings: readonly Listing[]): Promise<void> {
  const { client, deployment } = chain;
  if (listings.length === 0) return;
  const known = await readCatalog(chain);
  const missing = listings.filter(({ id }) => !known.has(id));
  if (missing.length === 0) return;
  const catalog = { address: deployment.contracts.ModelCatalog, abi: modelCatalogAbi } as const;
  const owner = await client.readContract({ ...catalog, functionName: "owner" });
  await setBalance(chain, owner, parseEther("1000"));
  for (const listing of missing) {
    const data = encodeFunctionData({ abi: modelCatalogAbi, functionName: "list", args: [listing] });
    try {
      await sendAs(chain, owner, { to: catalog.address, data });
    } catch (error) {
      // Another worker that joins at the same moment may have listed it first.
      if (!(await readCatalog(chain)).has(listing.id)) throw error;
    }
  }
}

/** Sends a transaction without the sender's key, which a development node does for any account. */
async function sendAs(chain: ChainView, from: Address, call: { to: Address; data: Hex }): Promise<void> {
  await request(chain, "hardhat_impersonateAccount", [from]);
  const hash = await sendInTurn(() => request<Hex>(chain, "eth_sendTransaction", [{ from, ...call }]));
  const { status } = await receiptOf(chain.client, hash, { interval: POLL_MS });
  if (status !== "success") throw new ConfigError(`the development chain refused ${hash} of ${from}`);
}

const setBalance = (chain: ChainView, account: Address, wei: bigint): Promise<void> =>
  request(chain, "hardhat_setBalance", [account, numberToHex(wei)]);

/** A method that viem does not know on this client. */
const request = <T>({ client }: ChainView, method: string, params: unknown[]): Promise<T> =>
  (client.request as EIP1193RequestFn)({ method, params } as never) as Promise<T>;
