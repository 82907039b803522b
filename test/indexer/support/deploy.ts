import { execFile } from "node:child_process";
import { cpSync, existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { keccak256, toBytes } from "viem";
import { privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { type Deployment, parseDeployment } from "../../../protocol/deployment.ts";
import { OPERATOR_ADMIN as ADMIN } from "../../../scripts/deploy/config.ts";
import { chainFiles } from "../../../scripts/dev/chain.ts";
import { provideOperator } from "../../../scripts/dev/wallets.ts";
import { withLock } from "../../../shared/process.ts";
import { ROOT } from "../../support/processes.ts";
import { runFolder, temporaryDataDir } from "../../support/shared.ts";
import { type Chain, startChain } from "./chain.ts";

/** Accounts that anvil funds. */
export const DEPLOYER = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const GATEWAY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
export const CLIENT = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
export const WORKER_OWNER = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6";
/** The three arbiters of a development deployment. */
export const ARBITERS = [
  "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
  "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
  "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
] as const;
/** Names the signers of operator 1. */
export const OPERATOR_ADMIN = ADMIN.privateKey;
/** Signs for the worker; has no gas. */
export const WORKER = keccak256(toBytes("worker of the index's tests"));
/** Credits of the operator's reserve: too few for all its faults. */
const RESERVE = 20;

/** A chain with the contracts, in a folder of the test's own. The first of a test run deploys them; the others have a copy. */
export async function deployedChain(folder: string): Promise<{ chain: Chain; deployment: Deployment }> {
  const first = join(runFolder(), "index-chain");
  await withLock(`${first}.lock`, async () => {
    if (existsSync(first)) return;
    const made = temporaryDataDir();
    const chain = await startChain({ state: chainFiles(made).state });
    try {
      await deploy(chain.url, join(made, "deployment.json"));
    } finally {
      // It writes all of the chain before it ends.
      await chain.stop();
    }
    renameSync(made, first);
  });
  cpSync(first, folder, { recursive: true });
  const file = join(folder, "deployment.json");
  return {
    chain: await startChain({ state: chainFiles(folder).state }),
    deployment: parseDeployment(readFileSync(file, "utf8"), file),
  };
}

/** Deploys as the local stack does, with windows that a test can wait for. */
export async function deploy(rpcUrl: string, file: string): Promise<Deployment> {
  const windows = {
    completion: 60,
    inclusion: 5,
    finalization: 60,
    dispute: 60,
    arbitration: 200,
    equivocation: 240,
    notice: 1,
    unbonding: 500,
    priceNotice: 1,
    retirementNotice: 1,
  };
  const env = {
    ...process.env,
    RPC_URL: rpcUrl,
    DEPLOYMENT_FILE: file,
    OPERATOR_ADMIN_ADDRESSES: privateKeyToAddress(OPERATOR_ADMIN),
    DEPLOY_WINDOWS: JSON.stringify(windows),
    // One key does what governance and the first holder of SVC would do.
    OWNER_ADDRESS: privateKeyToAddress(DEPLOYER),
    SERVICE_TOKEN_HOLDER_ADDRESS: privateKeyToAddress(DEPLOYER),
  };
  await promisify(execFile)(process.execPath, ["scripts/deploy.ts"], { cwd: ROOT, env });
  const deployment = parseDeployment(readFileSync(file, "utf8"), file);
  await provideOperator(
    { rpc_url: rpcUrl, contracts: deployment.contracts },
    {
      operator: 1,
      admin: privateKeyToAccount(OPERATOR_ADMIN),
      signers: [privateKeyToAccount(GATEWAY)],
      funder: privateKeyToAccount(DEPLOYER),
      reserve: RESERVE,
    },
  );
  return deployment;
}
