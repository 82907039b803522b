/** Reads a deployment back from the chain: what was sent is not yet what is there. */
import { type Abi, domainSeparator, type PublicClient } from "viem";
import { LAUNCH_MODELS } from "../../contracts/ignition/launch-models.ts";
import { type ProtocolSettings, windowsOf } from "../../contracts/ignition/settings.ts";
import { type ReleasedContract, released } from "../../contracts/release.ts";
import type { Contracts } from "../../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolGovernorAbi,
  protocolTimelockAbi,
  protocolTreasuryAbi,
  workerRegistryAbi,
} from "../../protocol/generated/abi.ts";
import { escrowDomain } from "../../protocol/messages.ts";
import { wrongRights } from "./roles.ts";

/** The chain does not show what the deployment should have made. */
export class DeploymentMismatch extends Error {
  override name = "DeploymentMismatch";
}

const ABIS = {
  InferenceEscrow: inferenceEscrowAbi,
  ModelCatalog: modelCatalogAbi,
  WorkerRegistry: workerRegistryAbi,
  ArbitrationPanel: arbitrationPanelAbi,
  ProtocolTreasury: protocolTreasuryAbi,
  ProtocolGovernor: protocolGovernorAbi,
  ProtocolTimelock: protocolTimelockAbi,
} satisfies Record<string, Abi>;

/** Reads a view of a contract. */
type Read = (contract: keyof typeof ABIS, view: string, ...args: unknown[]) => Promise<unknown>;
/** What it is about, what the chain says, and what it should say. */
type Fact = readonly [what: string, is: unknown, wanted: unknown];

const readerOf =
  (client: PublicClient, contracts: Contracts): Read =>
  (contract, functionName, ...args) =>
    client.readContract({ address: contracts[contract], abi: ABIS[contract] as Abi, functionName, args });

/** Throws when a fact is not as wanted. Values are compared as text: addresses in any case, numbers in any type. */
async function check(facts: readonly Fact[]): Promise<void> {
  const found = await Promise.all(facts.map(async ([what, is, wanted]) => ({ what, is: await is, wanted })));
  const text = (value: unknown) => String(value).toLowerCase();
  const wrong = found.filter(({ is, wanted }) => text(is) !== text(wanted));
  if (wrong.length === 0) return;
  throw new DeploymentMismatch(wrong.map(({ what, is, wanted }) => `${what} is ${is}, wanted ${wanted}`).join("; "));
}

/** Checks what holds for the whole life of a deployment: the released code everywhere, and contracts that know each other. */
export async function checkWiring(
  client: PublicClient,
  contracts: Contracts,
  { stablecoin }: Pick<ProtocolSettings, "stablecoin">,
): Promise<void> {
  const wrong = await wrongCode(client, contracts, stablecoin === null);
  if (wrong.length > 0) throw new DeploymentMismatch(wrong.join("; "));
  const read = readerOf(client, contracts);
  const escrow = contracts.InferenceEscrow;
  const domain = domainSeparator({ domain: escrowDomain(await client.getChainId(), escrow) });
  await check([
    ["the escrow's token", read("InferenceEscrow", "token"), contracts.Stablecoin],
    ["the escrow's catalog", read("InferenceEscrow", "CATALOG"), contracts.ModelCatalog],
    ["the escrow's registry", read("InferenceEscrow", "REGISTRY"), contracts.WorkerRegistry],
    ["the escrow's panel", read("InferenceEscrow", "PANEL"), contracts.ArbitrationPanel],
    ["the registry's stake token", read("WorkerRegistry", "STAKE_TOKEN"), contracts.ServiceToken],
    ["the governor's token", read("ProtocolGovernor", "token"), contracts.ServiceToken],
    ["the treasury's stablecoin", read("ProtocolTreasury", "STABLECOIN"), contracts.Stablecoin],
    ["the registry's escrow", read("WorkerRegistry", "escrow"), escrow],
    ["the panel's escrow", read("ArbitrationPanel", "escrow"), escrow],
    ["the treasury's escrow", read("ProtocolTreasury", "escrow"), escrow],
    ["the escrow's domain of messages", read("InferenceEscrow", "domainSeparator"), domain],
  ]);
}

/**
 * Contracts whose code is not that of contracts/release/, in words. What the constructors fill in is not compared: the views that
 * return it are. A stablecoin that existed before only has to be there.
 */
export async function wrongCode(client: PublicClient, contracts: Contracts, ownStablecoin: boolean): Promise<string[]> {
  const names = Object.keys(contracts) as (keyof Contracts)[];
  const found = await Promise.all(
    names.map(async (name) => {
      const address = contracts[name];
      const code = await client.getCode({ address });
      if (!code) return `no code at ${name} ${address}`;
      if (name === "Stablecoin" && !ownStablecoin) return null;
      const release = released(name === "Stablecoin" ? "TestStablecoin" : name);
      if (masked(code, release) === masked(linked(release, contracts), release)) return null;
      return `the code of ${name} ${address} is not that of contracts/release/${release.contractName}.json`;
    }),
  );
  return found.filter((finding) => finding !== null);
}

/** The runtime bytecode with the addresses of the libraries that it calls. */
function linked({ deployedBytecode, deployedLinkReferences }: ReleasedContract, contracts: Contracts): string {
  let code = deployedBytecode;
  for (const libraries of Object.values(deployedLinkReferences)) {
    for (const [name, places] of Object.entries(libraries)) {
      const address = contracts[name as keyof Contracts].slice(2);
      for (const { start } of places) code = overwritten(code, start, address);
    }
  }
  return code.toLowerCase();
}

/** With zeros for everything that a constructor fills in. */
function masked(code: string, { immutables }: ReleasedContract): string {
  return immutables.reduce((text, { start, length }) => overwritten(text, start, "00".repeat(length)), code);
}

/** Bytes from `start` on replaced; the text begins with 0x. */
function overwritten(code: string, start: number, bytes: string): string {
  const at = 2 + 2 * start;
  return code.slice(0, at) + bytes + code.slice(at + bytes.length);
}

/** Checks, right after a deployment, what governance and operators may change later. */
export async function checkSettings(
  client: PublicClient,
  contracts: Contracts,
  settings: ProtocolSettings,
  startBlock: bigint,
): Promise<void> {
  const wrong = await wrongRights(client, contracts, startBlock, settings);
  if (wrong.length > 0) throw new DeploymentMismatch(wrong.join("; "));
  const read = readerOf(client, contracts);
  const models = await modelFacts(read);
  const { durations, governance } = settings;
  const windows = read("InferenceEscrow", "windows") as Promise<Record<string, number>>;
  const quorum = read("ArbitrationPanel", "currentSet").then((set) => read("ArbitrationPanel", "arbitersOf", set));
  await check([
    ["the treasury", read("InferenceEscrow", "treasury"), contracts.ProtocolTreasury],
    ["the fee", read("InferenceEscrow", "feeBps"), settings.feeBps],
    ["the compensation cap", read("InferenceEscrow", "compensationCap"), settings.compensationCap],
    ["the pause", read("InferenceEscrow", "paused"), [false, false]],
    ["the bits of stopped operators", read("InferenceEscrow", "stoppedOperators"), 0n],
    ...Object.entries(windowsOf(durations)).map(
      ([name, seconds]): Fact => [`window ${name}`, windows.then((all) => all[name]), seconds],
    ),
    ...models,
    ["the minimum stake", read("WorkerRegistry", "minimumStake"), settings.minimumStake],
    ["the slash amount", read("WorkerRegistry", "slashAmount"), settings.slashAmount],
    ["the unbonding period", read("WorkerRegistry", "unbondingPeriod"), durations.unbonding],
    ["the notice of prices", read("ModelCatalog", "priceNotice"), durations.priceNotice],
    ["the notice of retirements", read("ModelCatalog", "retirementNotice"), durations.retirementNotice],
    ["the arbiters' quorum", quorum.then((set) => (set as unknown[])[1]), settings.arbiterQuorum],
    ["the voting delay", read("ProtocolGovernor", "votingDelay"), governance.votingDelay],
    ["the voting period", read("ProtocolGovernor", "votingPeriod"), governance.votingPeriod],
    ["the proposal threshold", read("ProtocolGovernor", "proposalThreshold"), governance.proposalThreshold],
    ["the governor's quorum", read("ProtocolGovernor", "quorumNumerator"), governance.quorumPercent],
    ["the timelock's delay", read("ProtocolTimelock", "getMinDelay"), governance.timelockDelay],
  ]);
}

/** Every model that is listed, or should be. */
async function modelFacts(read: Read): Promise<Fact[]> {
  const count = (await read("ModelCatalog", "modelCount")) as number;
  return Array.from({ length: Math.max(count, LAUNCH_MODELS.length) }, (_, i): Fact => {
    const listed = i < count ? (read("ModelCatalog", "modelAt", i + 1) as Promise<{ listing: object }>) : null;
    return [`model ${i + 1}`, listed?.then(({ listing }) => fields(listing)) ?? "none", fields(LAUNCH_MODELS[i])];
  });
}

/** A struct's fields in an order that does not depend on who wrote it. */
const fields = (value: object | undefined): string =>
  value === undefined ? "none" : JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
