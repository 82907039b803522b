/** Runs the Ignition module against a node by URL, with the released contracts. */
import { join } from "node:path";
import { errorDeploymentResultToExceptionMessage } from "@nomicfoundation/hardhat-ignition/helpers";
import {
  type ArtifactResolver,
  DeploymentResultType,
  deploy,
  type EIP1193Provider,
} from "@nomicfoundation/ignition-core";
import {
  type Address,
  type BaseError,
  createPublicClient,
  getAddress,
  type Hex,
  hexToString,
  RpcRequestError,
  type TransactionSerializable,
} from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Contracts, DEV_CHAIN_ID } from "../../protocol/deployment.ts";
import { nodeTransport } from "../../shared/node-transport.ts";
import type { DeployConfig } from "./config.ts";
import { protocolModule } from "./protocol-module.ts";
import { released } from "./released.ts";

type ModuleRun = {
  rpcUrl: string;
  chainId: number;
  journal: string;
  config: DeployConfig;
  /** Nothing is compiled: the bytecode is that of the audited files. Tests deploy as somebody would who exchanges one. */
  artifactOf?: typeof released;
};

/** Sends what the journal does not show as done, and returns the addresses. */
export async function runModule({
  rpcUrl,
  chainId,
  journal,
  config,
  artifactOf = released,
}: ModuleRun): Promise<Contracts> {
  const artifactResolver: ArtifactResolver = {
    loadArtifact: async (name) => artifactOf(name),
    getBuildInfo: async () => undefined,
  };
  const module = protocolModule(config.settings);
  const result = await deploy({
    ignitionModule: module,
    artifactResolver,
    provider: signingProvider(rpcUrl, chainId, privateKeyToAccount(config.deployerKey)),
    deploymentDir: join(journal, "deployments/protocol"),
    deploymentParameters: {},
    accounts: [config.settings.deployer],
    // A development chain neither reorganises nor charges: nothing to wait for.
    config: chainId === DEV_CHAIN_ID ? { blockPollingInterval: 20, requiredConfirmations: 1 } : {},
  });
  if (result.type !== DeploymentResultType.SUCCESSFUL_DEPLOYMENT)
    throw new Error(withNames(errorDeploymentResultToExceptionMessage(result)));
  const address = ({ id }: { id: string }): Address => getAddress(result.contracts[id]?.address ?? "");
  const { results } = module;
  return {
    InferenceEscrow: address(results.escrow),
    ModelCatalog: address(results.catalog),
    WorkerRegistry: address(results.registry),
    ProtocolTreasury: address(results.treasury),
    ArbitrationPanel: address(results.panel),
    ProtocolGovernor: address(results.governor),
    ProtocolTimelock: address(results.timelock),
    DisputeLogic: address(results.disputeLogic),
    OperatorLogic: address(results.operatorLogic),
    ServiceToken: address(results.serviceToken),
    Stablecoin: address(results.stablecoin),
  };
}

/** Errors tell a window's name as 32 bytes: shown as text. */
function withNames(message: string): string {
  return message.replace(/"(0x(?=[0-9a-f]{64}")(?:[2-7][0-9a-f])+(?:00)+)"/g, (_, name: Hex) =>
    JSON.stringify(hexToString(name, { size: 32 })),
  );
}

/** A transaction as Ignition describes it: its quantities are hexadecimal. */
type Described = Record<"data" | "value" | "gas" | "nonce", Hex> & {
  to?: Address;
  gasPrice?: Hex;
  maxFeePerGas?: Hex;
  maxPriorityFeePerGas?: Hex;
};

/** The node, which does not have the key: transactions are signed here. */
function signingProvider(rpcUrl: string, chainId: number, account: PrivateKeyAccount): EIP1193Provider {
  const { request } = createPublicClient({ transport: nodeTransport(rpcUrl) });
  const ask: EIP1193Provider["request"] = async ({ method, params }) =>
    // A transaction that is sent again is refused as already known: only questions are repeated.
    await request({ method, params } as never, { retryCount: method === "eth_sendRawTransaction" ? 0 : 3 }).catch(
      (error: BaseError) => {
        // Ignition reads the reason of a revert in `data`, which only the node's own error has.
        throw error.walk((one) => one instanceof RpcRequestError) ?? error;
      },
    );
  return {
    request: async ({ method, params }) => {
      if (method !== "eth_sendTransaction") return await ask({ method, params: params ?? [] });
      const raw = await account.signTransaction(signable((params as [Described])[0], chainId));
      return await ask({ method: "eth_sendRawTransaction", params: [raw] });
    },
  };
}

function signable({ to, data, ...quantities }: Described, chainId: number): TransactionSerializable {
  const { value, gas, nonce, gasPrice, maxFeePerGas = "0x0", maxPriorityFeePerGas = "0x0" } = quantities;
  const call = { chainId, to: to ?? null, data, value: BigInt(value), gas: BigInt(gas), nonce: Number(nonce) };
  if (gasPrice !== undefined) return { ...call, type: "legacy", gasPrice: BigInt(gasPrice) };
  const fees = { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
  return { ...call, ...fees, type: "eip1559" };
}
