/** The Ignition module that deploys and wires the whole protocol; used by scripts/deploy.ts and by the contract tests. */
import { buildModule } from "@nomicfoundation/hardhat-ignition/modules";
import type { ContractFuture, Future, IgnitionModuleBuilder } from "@nomicfoundation/ignition-core";
import { keccak256, toBytes, zeroAddress, zeroHash } from "viem";
import { LAUNCH_MODELS } from "./launch-models.ts";
import { type ProtocolSettings, SERVICE_TOKEN_SUPPLY, windowsOf } from "./protocol-settings.ts";

/** The module for `settings`. Its futures' ids are stable, so an interrupted deployment continues from its journal. */
export function protocolModule(settings: ProtocolSettings) {
  if (settings.operators.length === 0) throw new Error("a deployment without an operator could never lock a job");
  return buildModule("Protocol", (m) => {
    const { deployer, durations } = settings;
    const stablecoin =
      settings.stablecoin === null
        ? m.contract("TestStablecoin", [], { id: "TestStablecoin" })
        : m.contractAt("TestStablecoin", settings.stablecoin, { id: "Stablecoin" });
    const serviceToken = m.contract("ServiceToken", [settings.serviceTokenHolder, SERVICE_TOKEN_SUPPLY]);
    const { governor, timelock } = governance(m, serviceToken, settings);
    const owner = settings.owner ?? timelock;

    // The deployer owns what it still has to wire and hands it over at the very end.
    const treasury = m.contract("ProtocolTreasury", [deployer, stablecoin]);
    const panel = m.contract("ArbitrationPanel", [deployer, [...settings.arbiters], settings.arbiterQuorum]);
    const catalog = m.contract("ModelCatalog", [deployer, durations.priceNotice, durations.retirementNotice]);
    const registry = m.contract("WorkerRegistry", [
      deployer,
      serviceToken,
      settings.minimumStake,
      settings.slashAmount,
      settings.creditsPer1kSvc,
      durations.unbonding,
    ]);
    const disputeLogic = m.library("DisputeLogic");
    const operatorLogic = m.library("OperatorLogic");
    const escrow = m.contract(
      "InferenceEscrow",
      [
        stablecoin,
        catalog,
        registry,
        panel,
        deployer,
        settings.guardian,
        treasury,
        settings.feeBps,
        settings.compensationCap,
        windowsOf(durations),
      ],
      { libraries: { DisputeLogic: disputeLogic, OperatorLogic: operatorLogic } },
    );
    const wired = [registry, treasury, panel].map((contract, i) =>
      m.call(contract, "setEscrow", [escrow], { id: `${["registry", "treasury", "panel"][i]}_escrow` }),
    );

    // One call after the other: the numbers of operators and models are the order of their transactions.
    const inOrder = <T, Call extends Future>(
      items: readonly T[],
      call: (item: T, number: number, after: Call[]) => Call,
    ): Call[] => items.reduce<Call[]>((after, item, i) => [call(item, i + 1, after)], []);
    const operatorsAdmitted = inOrder(settings.operators, (admin, number, after) =>
      m.call(escrow, "admitOperator", [admin], { id: `operator_${number}`, after }),
    );
    const modelsListed = inOrder(LAUNCH_MODELS, (model, number, after) =>
      m.call(catalog, "list", [model], { id: `model_${number}`, after }),
    );

    m.call(registry, "transferOwnership", [owner], { id: "registry_owner", after: wired });
    m.call(treasury, "transferOwnership", [owner], { id: "treasury_owner", after: wired });
    m.call(panel, "transferOwnership", [owner], { id: "panel_owner", after: wired });
    m.call(escrow, "transferOwnership", [owner], { id: "escrow_owner", after: operatorsAdmitted });
    m.call(catalog, "transferOwnership", [owner], { id: "catalog_owner", after: modelsListed });
    return {
      stablecoin,
      serviceToken,
      governor,
      timelock,
      treasury,
      panel,
      catalog,
      registry,
      disputeLogic,
      operatorLogic,
      escrow,
    };
  });
}

/** The governor, and the timelock that only it can propose to, that everyone can execute, and that nobody administers. */
function governance(
  m: IgnitionModuleBuilder,
  serviceToken: ContractFuture<string>,
  { deployer, governance: g }: ProtocolSettings,
) {
  const timelock = m.contract("ProtocolTimelock", [g.timelockDelay, [], [zeroAddress], deployer]);
  const governor = m.contract("ProtocolGovernor", [
    serviceToken,
    timelock,
    g.votingDelay,
    g.votingPeriod,
    g.proposalThreshold,
    g.quorumPercent,
  ]);
  const granted = ["PROPOSER_ROLE", "CANCELLER_ROLE"].map((role) =>
    m.call(timelock, "grantRole", [keccak256(toBytes(role)), governor], { id: `timelock_${role.toLowerCase()}` }),
  );
  m.call(timelock, "renounceRole", [zeroHash, deployer], { id: "timelock_admin", after: granted });
  return { governor, timelock };
}
