/** Registers workers of one owner on chain, or brings their registration up to date. */
import { readFileSync } from "node:fs";
import {
  type Account,
  type Address,
  createPublicClient,
  createWalletClient,
  type Hex,
  type PublicClient,
  type Transport,
  type WalletClient,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import type { Deployment } from "../protocol/deployment.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../protocol/messages.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { nodeTransport } from "../shared/node-transport.ts";
import { ConfigError } from "../worker/console.ts";
import { missingStake, readRegistration, registrationSteps, requireOwner, STAKE_UNIT } from "../worker/registration.ts";

/** anvil's and Hardhat's third account; it holds the SVC supply of a development chain. */
export const DEV_OWNER: Hex = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
/** Static ceiling: simulation would need each transaction to be mined before the next. */
const GAS = 1_000_000n;

const key = z.custom<Hex>(
  (v) => typeof v === "string" && /^0x[0-9a-fA-F]{64}$/.test(v),
  "must be 0x and 64 hex digits",
);
const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "must be an address");
const workerSchema = z.object({
  privateKey: key,
  endpoint: z.url({ protocol: /^https?$/ }).max(200),
  models: z.array(z.string().min(1)).min(1),
  payout: address.optional(),
});
export type WorkerEntry = z.infer<typeof workerSchema>;

/**
 * Reads a file of workers: a JSON list of {privateKey, endpoint, models: [catalog ids], payout?: address}. Each worker's own key signs its
 * enrollment, so nobody can register another's. Throws a ConfigError that names every bad value and quotes none: there
 * are keys among them.
 */
export function readWorkers(file: string): WorkerEntry[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ConfigError(`cannot read --workers-file ${file}: ${(error as Error).message.slice(0, 80)}`);
  }
  const workers = z.array(workerSchema).safeParse(json);
  if (workers.success) return workers.data;
  throw new ConfigError(`${file} is not a list of workers:\n${z.prettifyError(workers.error)}`);
}

type Registrar = {
  client: PublicClient;
  wallet: WalletClient<Transport, undefined, Account>;
  deployment: Deployment;
};

/**
 * Registers workers of one owner, or changes what differs; those that are unbonding are taken back. What each takes is what the worker
 * itself would send (worker/registration.ts), with consecutive nonces. Returns the number of transactions, once all are mined.
 */
export async function bringUpToDate(
  { client, wallet, deployment }: Registrar,
  workers: readonly WorkerEntry[],
): Promise<number> {
  const owner = wallet.account.address;
  let nonce = await client.getTransactionCount({ address: owner, blockTag: "pending" });
  /** The allowance that the registry has left once everything sent so far is mined; null before the first look. */
  let allowance: bigint | null = null;
  const sent: { hash: Hex; what: string }[] = [];
  for (const { privateKey, endpoint, models, payout } of workers) {
    const account = privateKeyToAccount(privateKey);
    const state = await readRegistration({ client, deployment }, account.address, owner);
    allowance ??= state.owner.allowance;
    state.owner.allowance = allowance;
    const stake = state.minimumStake * 2n;
    if (state.worker !== null) requireOwner(state.worker, owner, "OPERATOR_PRIVATE_KEY");
    const wanted = { unbonding: "cancel" as const, endpoint, models, payout: payout ?? account.address, stake };
    const domain = registryDomain(deployment.chainId, deployment.contracts.WorkerRegistry);
    const consent = { domain, types: enrollmentTypes, primaryType: "Enrollment", message: { owner } } as const;
    const enrollment = compactSignature(await account.signTypedData(consent));
    const taken = missingStake(state, wanted) * STAKE_UNIT;
    for (const { what, to, data } of registrationSteps(deployment, state, wanted, enrollment)) {
      const hash = await wallet.sendTransaction({ to, data, gas: GAS, nonce: nonce++, chain: null });
      sent.push({ hash, what });
    }
    // An allowance that is not enough is replaced by exactly what is taken.
    allowance = allowance < taken ? 0n : allowance - taken;
  }
  for (const { hash, what } of sent) {
    const { status } = await receiptOf(client, hash, { timeout: 60_000, interval: 50 });
    if (status === "success") continue;
    throw new ConfigError(`cannot ${what}: ${hash} reverted. Has ${owner} enough SVC for the stake of all workers?`);
  }
  return sent.length;
}

/** Client and wallet of one account. Calls of the same moment share one HTTP request. */
export function registrarOf(rpcUrl: string, ownerKey: Hex, deployment: Deployment): Registrar {
  const transport = nodeTransport(rpcUrl, { batch: { wait: 0, batchSize: 100 } });
  const account = privateKeyToAccount(ownerKey);
  return { client: createPublicClient({ transport }), wallet: createWalletClient({ transport, account }), deployment };
}
