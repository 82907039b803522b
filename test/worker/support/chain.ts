import { readFileSync } from "node:fs";
import {
  createTestClient,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  publicActions,
  toBytes,
  toHex,
  walletActions,
} from "viem";
import { type HDAccount, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { anvil } from "viem/chains";
import { bringUpToDate, DEV_OWNER, registrarOf } from "../../../operator/register-workers.ts";
import { type Deployment, parseDeployment } from "../../../protocol/deployment.ts";
import { inferenceEscrowAbi, modelCatalogAbi } from "../../../protocol/generated/abi.ts";
import { DEPLOYER_KEY } from "../../../scripts/deploy/config.ts";
import { provideCredits, provideOperator } from "../../../scripts/dev/wallets.ts";
import { mined } from "../../support/mined.ts";
import { only, startTestStack } from "../../support/stack.ts";
import { freePort } from "./processes.ts";

const MNEMONIC = "test test test test test test test test test test test junk";
/** Development accounts: 1 and 4 are gateways of the stack's operator, 2 one of another operator, 3 is a client's wallet. */
export const gateway = mnemonicToAccount(MNEMONIC, { addressIndex: 1 });
export const otherGateway = mnemonicToAccount(MNEMONIC, { addressIndex: 2 });
export const client = mnemonicToAccount(MNEMONIC, { addressIndex: 3 });
export const secondGateway = mnemonicToAccount(MNEMONIC, { addressIndex: 4 });
/** Admin of the stack's operator. */
export const operatorAdmin = mnemonicToAccount(MNEMONIC, { addressIndex: 5 });
const funder = privateKeyToAccount(DEPLOYER_KEY);

export type TestChain = Awaited<ReturnType<typeof startChain>>;
export type TestWorker = { privateKey: Hex; address: Hex; endpoint: string; models: string[] };

const createNode = (rpcUrl: string) =>
  createTestClient({ mode: "anvil", chain: anvil, transport: http(rpcUrl), pollingInterval: 50 })
    .extend(publicActions)
    .extend(walletActions);

/**
 * A stack's chain with the contracts and nothing else; a wallet that holds 100,000 credits. `temporary`: the node never writes its chain, which
 * takes seconds where it is long.
 */
export async function startChain(windows: Record<string, number> = {}, temporary = false) {
  const stack = await startTestStack({
    parts: only("chain", "contracts"),
    workers: [],
    windows,
    temporary,
    gatewayKeys: [toHex(secondGateway.getHdKey().privateKey as Uint8Array)],
  });
  const { info, deploymentFile } = stack;
  const folder = stack.options.dataDir;
  const rpc = createNode(info.rpc_url);
  const env = { RPC_URL: info.rpc_url, DEPLOYMENT_FILE: deploymentFile };
  const deployment: Deployment = parseDeployment(readFileSync(deploymentFile, "utf8"), deploymentFile);
  const { InferenceEscrow, ModelCatalog, ProtocolTimelock } = deployment.contracts;
  const escrow = { address: InferenceEscrow, abi: inferenceEscrowAbi } as const;
  await provideCredits(info, { funder, owner: client, credits: 100_000 });

  let queue: Promise<unknown> = Promise.resolve();
  /** Sends a call of the escrow and waits for it; one at a time, so that concurrent tests do not fight over nonces. */
  const send = (
    account: HDAccount,
    functionName: "lock" | "complete" | "acknowledge" | "fail" | "refund" | "rotateSigners",
    args: readonly unknown[],
  ) => {
    const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName, args } as EncodeFunctionDataParameters);
    const sent = queue.then(async () => mined(rpc, await rpc.sendTransaction({ account, to: InferenceEscrow, data })));
    queue = sent.catch(() => undefined);
    return sent;
  };

  /** Admits a second operator, as governance does, with `otherGateway` as its gateway. */
  const admitOtherOperator = async (): Promise<void> => {
    const admin = privateKeyToAccount(keccak256(toBytes("admin of the other operator")));
    const account = ProtocolTimelock;
    for (const address of [account, admin.address]) await rpc.setBalance({ address, value: 10n ** 18n });
    await rpc.impersonateAccount({ address: account });
    await mined(
      rpc,
      await rpc.writeContract({ ...escrow, account, functionName: "admitOperator", args: [admin.address] }),
    );
    await provideOperator(info, { operator: 2, admin, signers: [otherGateway], funder, reserve: 100 });
  };

  return {
    rpc,
    send,
    admitOtherOperator,
    rpcUrl: info.rpc_url,
    folder,
    deployment,
    escrow,
    env,
    jobOf: (jobId: Hex) => rpc.readContract({ ...escrow, functionName: "jobOf", args: [jobId] }),
    /** Catalog number of a model. */
    modelNumber: async (id: string): Promise<number> => {
      const count = await rpc.readContract({ address: ModelCatalog, abi: modelCatalogAbi, functionName: "modelCount" });
      for (let n = 1; n <= count; n++) {
        const view = await rpc.readContract({
          address: ModelCatalog,
          abi: modelCatalogAbi,
          functionName: "modelAt",
          args: [n],
        });
        if (view.listing.id === id) return n;
      }
      throw new Error(`no model ${id}`);
    },
    /** Registers workers of one owner. */
    register: (workers: TestWorker[]) => bringUpToDate(registrarOf(info.rpc_url, DEV_OWNER, deployment), workers),
    stop: () => stack.remove(),
  };
}

/** A new worker's key and where it will listen. */
export async function newWorker(privateKey: Hex, models: string[]): Promise<TestWorker> {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  return { privateKey, address: privateKeyToAccount(privateKey).address, endpoint, models };
}
