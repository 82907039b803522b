/** Reads a deployment back from the chain: what was sent is not yet what is there. */
import { type Address, isAddressEqual, type PublicClient } from "viem";
import { LAUNCH_MODELS } from "../../contracts/ignition/launch-models.ts";
import type { ProtocolSettings } from "../../contracts/ignition/settings.ts";
import type { Contracts } from "../../protocol/deployment.ts";
import { inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";

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
  const [token, catalog, workers, stake, back] = await Promise.all([
    client.readContract({ ...escrow, functionName: "token" }),
    client.readContract({ ...escrow, functionName: "CATALOG" }),
    client.readContract({ ...escrow, functionName: "REGISTRY" }),
    client.readContract({ ...registry, functionName: "STAKE_TOKEN" }),
    client.readContract({ ...registry, functionName: "escrow" }),
  ]);
  const wiring: [string, Address, Address][] = [
    ["the escrow's token", token, contracts.Stablecoin],
    ["the escrow's catalog", catalog, contracts.ModelCatalog],
    ["the escrow's registry", workers, contracts.WorkerRegistry],
    ["the registry's stake token", stake, contracts.ServiceToken],
    ["the registry's escrow", back, contracts.InferenceEscrow],
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
): Promise<void> {
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const owned = {
    escrow: contracts.InferenceEscrow,
    catalog: contracts.ModelCatalog,
    registry: contracts.WorkerRegistry,
    treasury: contracts.ProtocolTreasury,
  };
  const { priceNotice, retirementNotice, unbonding, ...windows } = settings.durations;
  const [treasury, guardian, fee, windowsRead, models, minimumStake, unbondingRead, ...owners] = await Promise.all([
    client.readContract({ ...escrow, functionName: "treasury" }),
    client.readContract({ ...escrow, functionName: "guardian" }),
    client.readContract({ ...escrow, functionName: "feeBps" }),
    client.readContract({ ...escrow, functionName: "windows" }),
    client.readContract({ address: contracts.ModelCatalog, abi: modelCatalogAbi, functionName: "modelCount" }),
    client.readContract({ address: contracts.WorkerRegistry, abi: workerRegistryAbi, functionName: "minimumStake" }),
    client.readContract({ address: contracts.WorkerRegistry, abi: workerRegistryAbi, functionName: "unbondingPeriod" }),
    // `owner` is the same function everywhere.
    ...Object.values(owned).map((address) => client.readContract({ ...escrow, address, functionName: "owner" })),
  ]);
  const facts: [string, unknown, unknown][] = [
    ["treasury", treasury, contracts.ProtocolTreasury],
    ["guardian", guardian, settings.guardian],
    ["fee", fee, settings.feeBps],
    ["number of models", models, LAUNCH_MODELS.length],
    ["minimum stake", minimumStake, settings.minimumStake],
    ["unbonding period", unbondingRead, unbonding],
    ...Object.entries(windows).map(([name, value]): [string, unknown, unknown] => [
      `window ${name}`,
      windowsRead[name as keyof typeof windows],
      value,
    ]),
    ...Object.keys(owned).map((name, i): [string, unknown, unknown] => [
      `owner of the ${name}`,
      owners[i],
      settings.owner,
    ]),
  ];
  const text = (value: unknown) => String(value).toLowerCase();
  const missing = await unknownGateways(client, contracts.InferenceEscrow, settings.gateways);
  facts.push(["unknown gateways", missing.join(", "), ""]);
  report(
    facts.filter(([, is, wanted]) => text(is) !== text(wanted)).map(([what, is, wanted]) => ({ what, is, wanted })),
  );
}

function report(findings: Finding[]): void {
  if (findings.length === 0) return;
  throw new DeploymentMismatch(findings.map((f) => `${f.what} is ${f.is}, wanted ${f.wanted}`).join("; "));
}
