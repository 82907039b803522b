/** The Ignition module that deploys and wires the whole protocol; used by scripts/deploy.ts and by the contract tests. */
import { buildModule } from "@nomicfoundation/hardhat-ignition/modules";
import type { Future } from "@nomicfoundation/ignition-core";
import { LAUNCH_MODELS } from "./launch-models.ts";
import { type ProtocolSettings, SERVICE_TOKEN_SUPPLY, type Windows } from "./settings.ts";

/** The module for `settings`. Its futures' ids are stable, so an interrupted deployment continues from its journal. */
export function protocolModule(settings: ProtocolSettings) {
  if (settings.gateways.length === 0) throw new Error("a deployment without a gateway could never lock a job");
  return buildModule("Protocol", (m) => {
    const { deployer, owner, durations } = settings;
    const stablecoin =
      settings.stablecoin === null
        ? m.contract("TestStablecoin", [], { id: "TestStablecoin" })
        : m.contractAt("TestStablecoin", settings.stablecoin, { id: "Stablecoin" });
    const serviceToken = m.contract("ServiceToken", [settings.serviceTokenHolder, SERVICE_TOKEN_SUPPLY]);
    const treasury = m.contract("ProtocolTreasury", [owner]);

    // The deployer owns what it still has to wire and hands it over at the very end.
    const catalog = m.contract("ModelCatalog", [deployer, durations.priceNotice, durations.retirementNotice]);
    const registry = m.contract("WorkerRegistry", [deployer, serviceToken, settings.minimumStake, durations.unbonding]);
    const escrow = m.contract("InferenceEscrow", [
      stablecoin,
      catalog,
      registry,
      deployer,
      settings.guardian,
      treasury,
      settings.feeBps,
      windowsOf(durations),
    ]);
    const wired = m.call(registry, "setEscrow", [escrow]);

    // One call after the other: the numbers of gateways and models are the order of their transactions.
    const inOrder = <T, Call extends Future>(
      items: readonly T[],
      call: (item: T, number: number, after: Call[]) => Call,
    ): Call[] => items.reduce<Call[]>((after, item, i) => [call(item, i + 1, after)], []);
    const gatewaysAdded = inOrder(settings.gateways, (gateway, number, after) =>
      m.call(escrow, "addGateway", [gateway], { id: `gateway_${number}`, after }),
    );
    const modelsListed = inOrder(LAUNCH_MODELS, (model, number, after) =>
      m.call(catalog, "list", [model], { id: `model_${number}`, after }),
    );

    m.call(registry, "transferOwnership", [owner], { id: "registry_owner", after: [wired] });
    m.call(escrow, "transferOwnership", [owner], { id: "escrow_owner", after: gatewaysAdded });
    m.call(catalog, "transferOwnership", [owner], { id: "catalog_owner", after: modelsListed });
    return { stablecoin, serviceToken, treasury, catalog, registry, escrow };
  });
}

/** The part of the durations that the escrow keeps. */
export function windowsOf(durations: ProtocolSettings["durations"]): Windows {
  const { completion, inclusion, finalization, dispute, arbitration, equivocation, notice } = durations;
  return { completion, inclusion, finalization, dispute, arbitration, equivocation, notice };
}
