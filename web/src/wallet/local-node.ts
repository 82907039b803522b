/** The node of a local development chain, which the page asks itself: it does what no wallet would pass on. */
import type { Address, Hex } from "viem";
import { app } from "../data/app.ts";

/** Asks the node. Rejects with its error, `code` and `data` included, as a wallet would. */
export async function askNode<T>(method: string, params: unknown): Promise<T> {
  const response = await fetch(app.rpc_url ?? "", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: params ?? [] }),
  });
  const { result, error } = await response.json();
  if (error) throw Object.assign(new Error(error.message), { code: error.code, data: error.data });
  return result as T;
}

/** A whole unit of the chain's currency. */
const GAS = 10n ** 18n;

/** Gives a wallet gas for many transactions, unless it has some. */
export async function giveGas(account: Address): Promise<void> {
  if (app.rpc_url === null) return;
  const has = BigInt(await askNode<Hex>("eth_getBalance", [account, "latest"]));
  if (has < GAS / 10n) await askNode("hardhat_setBalance", [account, `0x${(has + GAS).toString(16)}`]);
}
