/** Reads a deployment back from the chain: what was sent is not yet what is there. */
import { type Address, isAddressEqual, type PublicClient } from "viem";
import { LAUNCH_MODELS } from "../../contracts/ignition/launch-models.ts";
import type { ProtocolSettings } from "../../contracts/ignition/settings.ts";
import type { Contracts } from "../../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolTreasuryAbi,
  workerRegistryAbi,
} from "../../protocol/generated/abi.ts";
import { wrongGrants } from "./roles.ts";

type Finding = { what: string; is: unknown; wanted: unknown };

/** The chain does not show what the deployment should have made. */
export class DeploymentMismatch extends Error {
  override name = "DeploymentMismatch";
}

/** Checks what holds for the whole life of a deployment: code everywhere, and contracts that know each other. */
export async function checkWiring(client: PublicClient, contracts: Contracts): Promise<void> {
  const codes = await Promise.all(Object.values(contracts).map((address) => client.getCode({ address })));
  const missing = Object.keys(contracts).filter((_, i) => !codes[i]);
  if (missing.length > 0) throw new DeploymentMismatch(`no code at ${missing.join(", ")}`);

  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const registry = { address: contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
  const panel = { address: contracts.ArbitrationPanel, abi: arbitrationPanelAbi } as const;
  const treasury = { address: contracts.ProtocolTreasury, abi: protocolTreasuryAbi } as const;
  const [token, catalog, workers, arbitration, stake, back, panelBack, treasuryBack] = await Promise.all([
    client.readContract({ ...escrow, functionName: "token" }),
    client.readContract({ ...escrow, functionName: "CATALOG" }),
    client.readContract({ ...escrow, functionName: "REGISTRY" }),
    client.readContract({ ...escrow, functionName: "PANEL" }),
    client.readContract({ ...registry, functionName: "STAKE_TOKEN" }),
    client.readContract({ ...registry, functionName: "escrow" }),
    client.readContract({ ...panel, functionName: "escrow" }),
    client.readContract({ ...treasury, functionName: "escrow" }),
  ]);
  const wiring: [string, Address, Address][] = [
    ["the escrow's token", token, contracts.Stablecoin],
    ["the escrow's catalog", catalog, contracts.ModelCatalog],
    ["the escrow's registry", workers, contracts.WorkerRegistry],
    ["the registry's stake token", stake, contracts.ServiceToken],
    ["the registry's escrow", back, contracts.InferenceEscrow],
    ["the escrow's panel", arbitration, contracts.ArbitrationPanel],
    ["the panel's escrow", panelBack, contracts.InferenceEscrow],
    ["the treasury's escrow", treasuryBack, contracts.InferenceEscrow],
  ];
  report(
    wiring.filter(([, is, wanted]) => !isAddressEqual(is, wanted)).map(([what, is, wanted]) => ({ what, is, wanted })),
  );
}

/** Those of `gateways` that the escrow does not know. */
export async function unknownGateways(
  client: PublicClient,
  escrow: Address,
  gateways: readonly Address[],
): Promise<Address[]> {
  const known = await Promise.all(
    gateways.map((gateway) =>
      client.readContract({ address: escrow, abi: inferenceEscrowAbi, functionName: "gatewayOf", args: [gateway] }),
    ),
  );
  return gateways.filter((_, i) => known[i]?.[0] === 0);
}

/** Checks, right after a deployment, what governance may change later. */
export async function checkSettings(
  client: PublicClient,
  contracts: Contracts,
  settings: ProtocolSettings,
  startBlock: bigint,
): Promise<void> {
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const registry = { address: contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
  const { priceNotice, retirementNotice, unbonding, ...windows } = settings.durations;
  const [treasury, fee, windowsRead, models, minimumStake, slashAmount, unbondingRead] = await Promise.all([
    client.readContract({ ...escrow, functionName: "treasury" }),
    client.readContract({ ...escrow, functionName: "feeBps" }),
    client.readContract({ ...escrow, functionName: "windows" }),
    client.readContract({ address: contracts.ModelCatalog, abi: modelCatalogAbi, functionName: "modelCount" }),
    client.readContract({ ...registry, functionName: "minimumStake" }),
    client.readContract({ ...registry, functionName: "slashAmount" }),
    client.readContract({ ...registry, functionName: "unbondingPeriod" }),
  ]);
  const facts: [string, unknown, unknown][] = [
    ["treasury", treasury, contracts.ProtocolTreasury],
    ["fee", fee, settings.feeBps],
    ["number of models", models, LAUNCH_MODELS.length],
    ["minimum stake", minimumStake, settings.minimumStake],
    ["slash amount", slashAmount, settings.slashAmount],
    ["unbonding period", unbondingRead, unbonding],
    ...Object.entries(windows).map(([name, value]): [string, unknown, unknown] => [
      `window ${name}`,
      windowsRead[name as keyof typeof windows],
      value,
    ]),
  ];
  const text = (value: unknown) => String(value).toLowerCase();
  const missing = await unknownGateways(client, contracts.InferenceEscrow, settings.gateways);
  facts.push(["unknown gateways", missing.join(", "), ""]);
  facts.push(["rights", (await wrongGrants(client, contracts, startBlock, settings)).join(", "), ""]);
  report(
    facts.filter(([, is, wanted]) => text(is) !== text(wanted)).map(([what, is, wanted]) => ({ what, is, wanted })),
  );
}

function report(findings: Finding[]): void {
  if (findings.length === 0) return;
  throw new DeploymentMismatch(findings.map((f) => `${f.what} is ${f.is}, wanted ${f.wanted}`).join("; "));
}
