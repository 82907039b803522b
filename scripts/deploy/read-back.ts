/** Reads a deployment back from the chain: what was sent is not yet what is there. */
import { type Address, domainSeparator, type PublicClient } from "viem";
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

/** What it is about, what the chain says, and what it should say. */
type Fact = readonly [what: string, is: unknown, wanted: unknown];

/** The chain does not show what the deployment should have made. */
export class DeploymentMismatch extends Error {
  override name = "DeploymentMismatch";
}

/** Checks what holds for the whole life of a deployment: the released code everywhere, and contracts that know each other. */
export async function checkWiring(
  client: PublicClient,
  contracts: Contracts,
  { stablecoin }: Pick<ProtocolSettings, "stablecoin">,
): Promise<void> {
  const wrong = await wrongCode(client, contracts, stablecoin === null);
  if (wrong.length > 0) throw new DeploymentMismatch(wrong.join("; "));

  const { escrow, registry, panel, treasury, governor } = contractsOf(contracts);
  const [token, catalog, workers, arbitration, stake, votes, coin, ...escrows] = await Promise.all([
    client.readContract({ ...escrow, functionName: "token" }),
    client.readContract({ ...escrow, functionName: "CATALOG" }),
    client.readContract({ ...escrow, functionName: "REGISTRY" }),
    client.readContract({ ...escrow, functionName: "PANEL" }),
    client.readContract({ ...registry, functionName: "STAKE_TOKEN" }),
    client.readContract({ ...governor, functionName: "token" }),
    client.readContract({ ...treasury, functionName: "STABLECOIN" }),
    client.readContract({ ...registry, functionName: "escrow" }),
    client.readContract({ ...panel, functionName: "escrow" }),
    client.readContract({ ...treasury, functionName: "escrow" }),
  ]);
  const [chainId, domain] = await Promise.all([
    client.getChainId(),
    client.readContract({ ...escrow, functionName: "domainSeparator" }),
  ]);
  report([
    ["the escrow's token", token, contracts.Stablecoin],
    ["the escrow's catalog", catalog, contracts.ModelCatalog],
    ["the escrow's registry", workers, contracts.WorkerRegistry],
    ["the escrow's panel", arbitration, contracts.ArbitrationPanel],
    ["the registry's stake token", stake, contracts.ServiceToken],
    ["the governor's token", votes, contracts.ServiceToken],
    ["the treasury's stablecoin", coin, contracts.Stablecoin],
    ...["registry", "panel", "treasury"].map((name, i): Fact => [`the ${name}'s escrow`, escrows[i], escrow.address]),
    ["the escrow's domain of messages", domain, domainSeparator({ domain: escrowDomain(chainId, escrow.address) })],
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
  report([
    ...(await escrowFacts(client, contracts, settings)),
    ...(await marketFacts(client, contracts, settings)),
    ...(await governanceFacts(client, contracts, settings)),
  ]);
}

async function escrowFacts(client: PublicClient, contracts: Contracts, settings: ProtocolSettings): Promise<Fact[]> {
  const { escrow } = contractsOf(contracts);
  const [treasury, fee, cap, windows, paused, stopped] = await Promise.all([
    client.readContract({ ...escrow, functionName: "treasury" }),
    client.readContract({ ...escrow, functionName: "feeBps" }),
    client.readContract({ ...escrow, functionName: "compensationCap" }),
    client.readContract({ ...escrow, functionName: "windows" }),
    client.readContract({ ...escrow, functionName: "paused" }),
    client.readContract({ ...escrow, functionName: "stoppedOperators" }),
  ]);
  return [
    ["the treasury", treasury, contracts.ProtocolTreasury],
    ["the fee", fee, settings.feeBps],
    ["the compensation cap", cap, settings.compensationCap],
    ["the pause", paused, [false, false]],
    ["the bits of stopped operators", stopped, 0n],
    ...Object.entries(windowsOf(settings.durations)).map(
      ([name, seconds]): Fact => [`window ${name}`, windows[name as keyof typeof windows], seconds],
    ),
  ];
}

/** Models with their prices, and what workers have at stake. */
async function marketFacts(client: PublicClient, contracts: Contracts, settings: ProtocolSettings): Promise<Fact[]> {
  const { catalog, registry } = contractsOf(contracts);
  const { unbonding, priceNotice, retirementNotice } = settings.durations;
  const count = await client.readContract({ ...catalog, functionName: "modelCount" });
  const listings = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { listing } = await client.readContract({ ...catalog, functionName: "modelAt", args: [i + 1] });
      return listing;
    }),
  );
  const [minimumStake, slashAmount, unbondingRead, priceRead, retirementRead] = await Promise.all([
    client.readContract({ ...registry, functionName: "minimumStake" }),
    client.readContract({ ...registry, functionName: "slashAmount" }),
    client.readContract({ ...registry, functionName: "unbondingPeriod" }),
    client.readContract({ ...catalog, functionName: "priceNotice" }),
    client.readContract({ ...catalog, functionName: "retirementNotice" }),
  ]);
  const numbers = Array.from({ length: Math.max(count, LAUNCH_MODELS.length) }, (_, i) => i);
  return [
    ...numbers.map((i): Fact => [`model ${i + 1}`, fields(listings[i]), fields(LAUNCH_MODELS[i])]),
    ["the minimum stake", minimumStake, settings.minimumStake],
    ["the slash amount", slashAmount, settings.slashAmount],
    ["the unbonding period", unbondingRead, unbonding],
    ["the notice of prices", priceRead, priceNotice],
    ["the notice of retirements", retirementRead, retirementNotice],
  ];
}

async function governanceFacts(
  client: PublicClient,
  contracts: Contracts,
  { governance, arbiterQuorum }: ProtocolSettings,
): Promise<Fact[]> {
  const { governor, panel, timelock } = contractsOf(contracts);
  const set = await client.readContract({ ...panel, functionName: "currentSet" });
  const [[, quorum], votingDelay, votingPeriod, threshold, percent, delay] = await Promise.all([
    client.readContract({ ...panel, functionName: "arbitersOf", args: [set] }),
    client.readContract({ ...governor, functionName: "votingDelay" }),
    client.readContract({ ...governor, functionName: "votingPeriod" }),
    client.readContract({ ...governor, functionName: "proposalThreshold" }),
    client.readContract({ ...governor, functionName: "quorumNumerator" }),
    client.readContract({ ...timelock, functionName: "getMinDelay" }),
  ]);
  return [
    ["the arbiters' quorum", quorum, arbiterQuorum],
    ["the voting delay", votingDelay, governance.votingDelay],
    ["the voting period", votingPeriod, governance.votingPeriod],
    ["the proposal threshold", threshold, governance.proposalThreshold],
    ["the governor's quorum", percent, governance.quorumPercent],
    ["the timelock's delay", delay, governance.timelockDelay],
  ];
}

function contractsOf(contracts: Contracts) {
  const at = <A>(address: Address, abi: A) => ({ address, abi });
  return {
    escrow: at(contracts.InferenceEscrow, inferenceEscrowAbi),
    catalog: at(contracts.ModelCatalog, modelCatalogAbi),
    registry: at(contracts.WorkerRegistry, workerRegistryAbi),
    panel: at(contracts.ArbitrationPanel, arbitrationPanelAbi),
    treasury: at(contracts.ProtocolTreasury, protocolTreasuryAbi),
    governor: at(contracts.ProtocolGovernor, protocolGovernorAbi),
    timelock: at(contracts.ProtocolTimelock, protocolTimelockAbi),
  };
}

/** A struct's fields in an order that does not depend on who wrote it. */
const fields = (value: object | undefined): string =>
  value === undefined ? "none" : JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

function report(facts: readonly Fact[]): void {
  const text = (value: unknown) => String(value).toLowerCase();
  const wrong = facts.filter(([, is, wanted]) => text(is) !== text(wanted));
  if (wrong.length === 0) return;
  throw new DeploymentMismatch(wrong.map(([what, is, wanted]) => `${what} is ${is}, wanted ${wanted}`).join("; "));
}
