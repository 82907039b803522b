import { setTimeout } from "node:timers/promises";
import {
  type Address,
  createWalletClient,
  encodeFunctionData,
  erc20Abi,
  formatEther,
  type Hex,
  parseEther,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import type { Chain } from "../chain/connect.ts";
import type { Terminal } from "../cli/terminal.ts";
import { ConfigError } from "../errors.ts";
import { STAKE_UNIT, svc } from "./state.ts";

/** A registration takes less; the rest pays for settling alone, should a gateway fall silent. */
const GAS_PER_STEP = 1_000_000n;
/** anvil's and Hardhat's third account, which holds the SVC supply of a development chain; its key is public. */
const DEVELOPMENT = {
  chainId: 31_337,
  key: "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
} as const;
const POLL_MS = 3_000;

type Need = { owner: Address; stake: bigint; steps: number };

/**
 * Waits until the owner has the stake and the gas that a registration takes. On a development chain they are simply given; elsewhere the operator is told
 * what to send where. Throws a ConfigError when nobody is there to send it.
 */
export async function ensureFunds(chain: Chain, need: Need, terminal: Terminal): Promise<void> {
  let told = false;
  for (;;) {
    const missing = await missingFunds(chain, need);
    if (missing.stake === 0n && missing.gas === 0n) return;
    if (chain.deployment.chainId === DEVELOPMENT.chainId) {
      await giveDevelopmentFunds(chain, need.owner, missing);
      terminal.say(`development chain: gave ${need.owner} its stake and gas`);
      continue;
    }
    const parts = [
      ...(missing.stake > 0n ? [`${svc(missing.stake)} (token ${chain.deployment.contracts.ServiceToken})`] : []),
      ...(missing.gas > 0n ? [`${formatEther(missing.gas)} of the chain's currency for gas`] : []),
    ];
    const message = `${need.owner} lacks ${parts.join(" and ")}`;
    if (!terminal.interactive) throw new ConfigError(`${message}: send it there, then start again`);
    if (!told) terminal.say(`${message}. Send it there; waiting …`);
    told = true;
    await setTimeout(POLL_MS);
  }
}

type Missing = { stake: bigint; gas: bigint };

async function missingFunds({ client, deployment }: Chain, { owner, stake, steps }: Need): Promise<Missing> {
  const token = { address: deployment.contracts.ServiceToken, abi: erc20Abi } as const;
  const [tokens, balance, { maxFeePerGas }] = await Promise.all([
    client.readContract({ ...token, functionName: "balanceOf", args: [owner] }),
    client.getBalance({ address: owner }),
    client.estimateFeesPerGas(),
  ]);
  const gas = GAS_PER_STEP * BigInt(steps) * maxFeePerGas;
  const lacking = stake * STAKE_UNIT - tokens;
  return {
    stake: lacking > 0n ? (lacking + STAKE_UNIT - 1n) / STAKE_UNIT : 0n,
    gas: balance < gas ? gas - balance : 0n,
  };
}

async function giveDevelopmentFunds(
  { client, deployment, rpcUrl }: Chain,
  to: Address,
  missing: Missing,
): Promise<void> {
  const account = privateKeyToAccount(DEVELOPMENT.key as Hex);
  const wallet = createWalletClient({ account, chain: client.chain, transport: nodeTransport(rpcUrl) });
  const send = async (transaction: { to: Address; data?: Hex; value?: bigint }): Promise<void> => {
    const hash = await wallet.sendTransaction({ ...transaction, chain: client.chain ?? null });
    const receipt = await receiptOf(client, hash, { interval: 100 });
    if (receipt.status !== "success") throw new ConfigError(`the development account could not pay: ${hash} reverted`);
  };
  if (missing.gas > 0n) await send({ to, value: parseEther("1") + missing.gas });
  if (missing.stake === 0n) return;
  const args = [to, missing.stake * STAKE_UNIT] as const;
  await send({
    to: deployment.contracts.ServiceToken,
    data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args }),
  });
}
