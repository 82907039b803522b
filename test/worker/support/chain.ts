import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createTestClient,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  publicActions,
  toBytes,
  walletActions,
} from "viem";
import { type HDAccount, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { anvil } from "viem/chains";
import { type Deployment, parseDeployment } from "../../../protocol/deployment.ts";
import { inferenceEscrowAbi, modelCatalogAbi, testStablecoinAbi } from "../../../protocol/generated/abi.ts";
import { provideOperator } from "../../../scripts/local-stack/funding.ts";
import { mined } from "../../support/mined.ts";
import { freePort, ROOT, runScript, start, until } from "./processes.ts";

const MNEMONIC = "test test test test test test test test test test test junk";
/** Development accounts: 1 and 4 are gateways of the first operator, 2 one of another operator, 5 is a client's wallet. */
export const gateway = mnemonicToAccount(MNEMONIC, { addressIndex: 1 });
export const secondGateway = mnemonicToAccount(MNEMONIC, { addressIndex: 4 });
export const otherGateway = mnemonicToAccount(MNEMONIC, { addressIndex: 2 });
export const client = mnemonicToAccount(MNEMONIC, { addressIndex: 5 });
/** Number of the operator that wallets choose, and its admin: the fourth development account. */
export const OPERATOR = 1;
export const operatorAdmin = mnemonicToAccount(MNEMONIC, { addressIndex: 3 });
const otherAdmin = privateKeyToAccount(keccak256(toBytes("admin of the other operator")));

export type TestChain = Awaited<ReturnType<typeof startChain>>;
export type TestWorker = { privateKey: Hex; address: Hex; endpoint: string; models: string[] };

const createNode = (rpcUrl: string) =>
  createTestClient({ mode: "anvil", chain: anvil, transport: http(rpcUrl), pollingInterval: 50 })
    .extend(publicActions)
    .extend(walletActions);

/** A node of its own with the deployed contracts, two operators with a gateway each, and a wallet that holds 100,000 credits. */
export async function startChain(windows: Record<string, number> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "worker-test-"));
  const port = await freePort();
  // The real binary: node_modules/.bin/anvil is a wrapper that leaves it running when killed.
  const binary = join(
    ROOT,
    `node_modules/@foundry-rs/anvil-${process.platform}-${process.arch === "x64" ? "amd64" : "arm64"}/bin/anvil`,
  );
  const node = start(binary, ["--port", String(port), "--silent"]);
  const rpcUrl = `http://127.0.0.1:${port}`;
  const rpc = createNode(rpcUrl);
  await until("the node answers", () =>
    rpc.getBlockNumber().then(
      () => true,
      () => false,
    ),
  );

  const deploymentFile = join(folder, "deployment.json");
  const env = { RPC_URL: rpcUrl, DEPLOYMENT_FILE: deploymentFile };
  await runScript("scripts/deploy.ts", {
    ...env,
    OPERATOR_ADMIN_ADDRESSES: `${operatorAdmin.address},${otherAdmin.address}`,
    DEPLOY_WINDOWS: JSON.stringify(windows),
  });
  const deployment: Deployment = parseDeployment(await readFile(deploymentFile, "utf8"), deploymentFile);
  const { InferenceEscrow, Stablecoin, ModelCatalog } = deployment.contracts;
  const escrow = { address: InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const token = { address: Stablecoin, abi: testStablecoinAbi } as const;
  await rpc.setBalance({ address: otherAdmin.address, value: 10n ** 18n });
  for (const [i, { admin, signers }] of [
    { admin: operatorAdmin, signers: [gateway, secondGateway] },
    { admin: otherAdmin, signers: [otherGateway] },
  ].entries()) {
    await provideOperator(
      { rpc_url: rpcUrl, contracts: deployment.contracts },
      { operator: i + 1, admin, signers, funder: client, reserve: 100_000 },
    );
  }
  const units = 100_000n * 10_000n;
  await mined(
    rpc,
    await rpc.writeContract({ ...token, account: client, functionName: "mint", args: [client.address, units] }),
  );
  await mined(
    rpc,
    await rpc.writeContract({ ...token, account: client, functionName: "approve", args: [InferenceEscrow, units] }),
  );
  await mined(
    rpc,
    await rpc.writeContract({ ...escrow, account: client, functionName: "deposit", args: [100_000, OPERATOR] }),
  );

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

  return {
    rpc,
    send,
    rpcUrl,
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
    /** Registers workers by the script that operators use. */
    register: async (workers: TestWorker[]): Promise<string> => {
      const file = join(folder, "workers.json");
      await writeFile(
        file,
        JSON.stringify(workers.map(({ privateKey, endpoint, models }) => ({ privateKey, endpoint, models }))),
      );
      return runScript("scripts/register-workers.ts", { ...env, WORKERS_FILE: file });
    },
    stop: async () => {
      await node.end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A new worker's key and where it will listen. */
export async function newWorker(privateKey: Hex, models: string[]): Promise<TestWorker> {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  return { privateKey, address: privateKeyToAccount(privateKey).address, endpoint, models };
}
