/** Runs the Ignition module against a node by URL. */

import { fileURLToPath } from "node:url";
import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import { type Address, getAddress } from "viem";
import { protocolModule } from "../../contracts/ignition/protocol.ts";
import hardhatConfig from "../../hardhat.config.ts";
import type { Contracts } from "../../protocol/deployment.ts";
import { nodeAddress } from "../../protocol/node-url.ts";
import { DEV_CHAIN_ID, type DeployConfig } from "./config.ts";
import { DEPLOYMENT_ID } from "./journal.ts";

export type ModuleRun = { rpcUrl: string; chainId: number; journal: string; config: DeployConfig };

/** Sends what the journal does not show as done, and returns the addresses. */
export async function runModule({ rpcUrl, chainId, journal, config }: ModuleRun): Promise<Contracts> {
  const { url, headers: httpHeaders } = nodeAddress(rpcUrl);
  const hre = await createHardhatRuntimeEnvironment(
    {
      ...hardhatConfig,
      paths: { ...hardhatConfig.paths, ignition: journal },
      networks: { target: { type: "http", url, httpHeaders, accounts: [config.deployerKey] } },
    },
    {},
    fileURLToPath(new URL("../../", import.meta.url)),
  );
  const connection = await hre.network.create("target");
  try {
    const contracts = await connection.ignition.deploy(protocolModule(config.settings), {
      deploymentId: DEPLOYMENT_ID,
      // A development chain neither reorganises nor charges: nothing to wait for.
      config: chainId === DEV_CHAIN_ID ? { blockPollingInterval: 20, requiredConfirmations: 1 } : {},
    });
    const address = async (contract: { getAddress(): Promise<string> }): Promise<Address> =>
      getAddress(await contract.getAddress());
    return {
      InferenceEscrow: await address(contracts.escrow),
      ModelCatalog: await address(contracts.catalog),
      WorkerRegistry: await address(contracts.registry),
      ProtocolTreasury: await address(contracts.treasury),
      ArbitrationPanel: await address(contracts.panel),
      ProtocolGovernor: await address(contracts.governor),
      ProtocolTimelock: await address(contracts.timelock),
      DisputeLogic: await address(contracts.disputeLogic),
      ServiceToken: await address(contracts.serviceToken),
      Stablecoin: await address(contracts.stablecoin),
    };
  } finally {
    await connection.close();
  }
}
