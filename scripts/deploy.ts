/**
 * Deploys the protocol, or finishes a deployment that was interrupted, and writes DEPLOYMENT_FILE.
 *
 * RPC_URL               node to deploy to.
 * DEPLOYMENT_FILE       what is written (protocol/deployment.ts); Ignition's journal lies next to it.
 * OPERATOR_ADMIN_ADDRESSES  operators to admit, by their admins, comma separated; their numbers from 1 are in this order.
 * DEPLOYER_PRIVATE_KEY  pays; on chain id 31337 the development account by default.
 * GUARDIAN_ADDRESS      may pause deposits and locks.
 * SERVICE_TOKEN_HOLDER_ADDRESS  first holder of the whole SVC supply.
 * ARBITER_ADDRESSES     arbiters of disputes, comma separated; ARBITER_QUORUM of them make a ruling (default: a majority).
 * STABLECOIN_ADDRESS    6-decimal token; on chain id 31337 a test token is deployed without it.
 * FEE_BPS               protocol fee, hundredths of a percent; default 1000.
 * CREDITS_PER_1K_SVC    what 1,000 SVC are worth, credits; default 10000. Follow the market.
 * COMPENSATION_CAP      credits that the treasury can be charged on a UTC day; default 20000.
 *
 * On chain id 31337 operator, guardian, holder and arbiters have defaults (public keys of the development mnemonic), and tests can set:
 * OWNER_ADDRESS         an account instead of the timelock.
 * DEPLOY_WINDOWS        JSON with some of `Durations` (scripts/deploy/protocol-settings.ts).
 * DEPLOY_GOVERNANCE     JSON with some of votingDelay, votingPeriod, timelockDelay.
 *
 * The timelock owns everything afterwards, the deployer nothing. Code, creation code, wiring, rights, figures and every event since the
 * creation are read back from the chain (scripts/deploy/history.ts says which events are everyday). A deployment with anything that the
 * settings do not explain fails; run again later, the script tells what has changed. Both name who has more than 1 % of all SVC or votes.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Address, createPublicClient, type PublicClient } from "viem";
import { DEV_CHAIN_ID, type Deployment, parseDeployment } from "../protocol/deployment.ts";
import { nodeTransport } from "../shared/node-transport.ts";
import { nodeHost } from "../shared/node-url.ts";
import { redactOutput, redactor, secretsOfUrl } from "../shared/redact.ts";
import { firstLine } from "../verify/chain.ts";
import { ConfigError, type DeployConfig, readConfig, readTarget } from "./deploy/config.ts";
import { type History, holderLine, namedHolders, readHistory, unexplained } from "./deploy/history.ts";
import {
  type ChainMark,
  checkSettings,
  checkWiring,
  DeploymentMismatch,
  notAdmitted,
  otherChain,
  wrongRights,
} from "./deploy/read-back.ts";

const log = (line: string): void => console.log(`deploy: ${line}`);

async function main(): Promise<void> {
  const started = Date.now();
  const target = readTarget(process.env);
  // Unforeseen errors and Ignition's own output may quote the node's URL.
  redactOutput(redactor(secretsOfUrl(target.rpcUrl, "RPC_URL")));
  const file = resolve(target.deploymentFile);
  const client = createPublicClient({ transport: nodeTransport(target.rpcUrl, { retryCount: 1 }) });
  const chainId = await client.getChainId().catch((cause: unknown) => {
    throw new ConfigError(`no node answers at RPC_URL (${nodeHost(target.rpcUrl)}): ${firstLine(cause)}`);
  });
  const config = readConfig(process.env, chainId);

  if (await isDeployed(file, client, chainId, config)) return log(`${file} is deployed already`);
  const deployment = await deploy(file, { rpcUrl: target.rpcUrl, client, chainId, config });
  write(file, deployment);
  log(`wrote ${file} after ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** True if the file describes a sound deployment on this very chain. */
async function isDeployed(file: string, client: PublicClient, chainId: number, config: DeployConfig): Promise<boolean> {
  if (!existsSync(file)) return false;
  const known = parseDeployment(readFileSync(file, "utf8"), file);
  let history: History;
  try {
    const other = await otherChain(client, known);
    if (other !== null) throw new DeploymentMismatch(other);
    history = await readHistory(client, known);
    await checkWiring(client, history, config.settings);
  } catch (error) {
    if (!(error instanceof DeploymentMismatch)) throw error;
    // On a chain with real money, nothing is deployed a second time over a file that somebody relies on.
    if (chainId !== DEV_CHAIN_ID)
      throw new ConfigError(`${file} exists, but ${error.message}. Check RPC_URL, or move the file away.`);
    log(`${file} is out of date (${error.message})`);
    return false;
  }
  // Governance and operators may have changed all of this since: it is told, and only what nobody admitted is an error.
  const rights = await wrongRights(client, known, config.settings);
  const events = await unexplained(client, history, config.settings);
  for (const difference of [...rights, ...events]) log(`other than the settings: ${difference}`);
  logHolders(history);
  const missing = await notAdmitted(client, known.contracts, config.settings.operators);
  if (missing.length > 0)
    throw new ConfigError(
      `${missing.join(", ")} of OPERATOR_ADMIN_ADDRESSES administers no operator. Correct the variable, or have governance admit it: ` +
        `npm run operator -- operators propose-admit ${missing[0]}`,
    );
  return true;
}

type Target = { rpcUrl: string; client: PublicClient; chainId: number; config: DeployConfig };

async function deploy(file: string, { rpcUrl, client, chainId, config }: Target): Promise<Deployment> {
  // The folder that Ignition uses as its root.
  const journal = `${file.replace(/\.json$/, "")}.ignition`;
  // Loading Ignition takes longer than everything above: only when there is something to do.
  const { runModule } = await import("./deploy/run-module.ts");
  const attempt = async (): Promise<Deployment> => {
    const mark = await openJournal(journal, client);
    const deployment = { ...mark, contracts: await runModule({ rpcUrl, chainId, journal, config }) };
    const history = await readHistory(client, deployment);
    await checkWiring(client, history, config.settings);
    await checkSettings(client, deployment, history, config.settings);
    logHolders(history);
    return deployment;
  };
  if (chainId !== DEV_CHAIN_ID || !existsSync(journal)) return await attempt();
  try {
    return await attempt();
  } catch (error) {
    // A development chain may have lost its last blocks, or the settings changed: start over, once.
    log(`the journal cannot be continued (${firstLine(error)}): deploying anew`);
    rmSync(journal, { recursive: true, force: true });
    return await attempt();
  }
}

/** Logs the accounts that decide in votes: nobody should have to look for them. */
function logHolders(history: History): void {
  for (const holder of namedHolders(history)) log(holderLine(holder));
}

/** Whole or not at all: other parts read the file as soon as it exists. */
function write(file: string, deployment: Deployment): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.tmp`, `${JSON.stringify(deployment, null, 2)}\n`);
  renameSync(`${file}.tmp`, file);
}

// The Ignition journal lies next to the deployment file. Ignition alone would trust an old journal on a new development chain and send
// nothing: the mark (a block of the chain before the first transaction) and the code at the journaled addresses tell the chains apart.

/** The mark of the deployment in `folder`: the one begun there, or a new one when it was begun on another chain. */
async function openJournal(folder: string, client: PublicClient): Promise<ChainMark> {
  const chainId = await client.getChainId();
  const file = join(folder, "chain.json");
  if (existsSync(file)) {
    const mark = JSON.parse(readFileSync(file, "utf8")) as ChainMark;
    const lost = await whatIsLost(folder, mark, client);
    if (lost === null) return mark;
    if (chainId !== DEV_CHAIN_ID) {
      throw new ConfigError(
        `${folder} is the journal of another chain (${lost}). Check RPC_URL; to deploy anew, move that folder away.`,
      );
    }
    log(`the chain of ${folder} is gone (${lost}): its journal is dropped`);
  }
  rmSync(folder, { recursive: true, force: true });
  const block = await client.getBlock();
  const mark: ChainMark = { chainId, startBlock: Number(block.number), startBlockHash: block.hash };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, JSON.stringify(mark));
  return mark;
}

/** Why the journal cannot be of this chain; null if it can. */
async function whatIsLost(folder: string, mark: ChainMark, client: PublicClient): Promise<string | null> {
  const other = await otherChain(client, mark);
  if (other !== null) return other;
  const file = join(folder, "deployments/protocol/deployed_addresses.json");
  const deployed: Record<string, Address> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  for (const [name, address] of Object.entries(deployed)) {
    if (!(await client.getCode({ address }))) return `no code at ${name} ${address}`;
  }
  return null;
}

try {
  await main();
} catch (error) {
  if (error instanceof ConfigError) console.error(`deploy: ${error.message}`);
  else if (error instanceof DeploymentMismatch)
    console.error(
      `deploy: what is on the chain is not what the settings ask for: ${error.message}. No deployment file was written: do not use it.`,
    );
  else console.error(error);
  process.exitCode = 1;
}
