import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type Account,
  type Address,
  createPublicClient,
  createWalletClient,
  defineChain,
  type Hex,
  type PublicClient,
  type Transport,
  type Chain as ViemChain,
  type WalletClient,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolGovernorAbi,
  protocolTreasuryAbi,
  serviceTokenAbi,
  workerRegistryAbi,
} from "../../protocol/generated/abi.ts";
import { nodeHost, nodeTransport, nodeUrlFault } from "../../protocol/node-url.ts";
import { ROOT } from "../local-stack/files.ts";
import { firstLine } from "../verify/errors.ts";
import { LogReader } from "../verify/log-reader.ts";
import type { Flags } from "./arguments.ts";
import { OperatorError } from "./errors.ts";

/** What a command prints: for a person, and for machines. */
export type Output = { text: string; json: unknown };

export type Signer = WalletClient<Transport, ViemChain, Account>;

/** One deployment, one node, and the person's own key. */
export class Operator {
  readonly flags: Flags;
  readonly deployment: Deployment;
  readonly rpcUrl: string;
  readonly client: PublicClient;
  readonly logs: LogReader;
  readonly #env: NodeJS.ProcessEnv;
  readonly #chain: ViemChain;
  readonly #databaseUrl: string | undefined;

  private constructor(
    flags: Flags,
    env: NodeJS.ProcessEnv,
    rpcUrl: string,
    deployment: Deployment,
    databaseUrl?: string,
  ) {
    this.flags = flags;
    this.#env = env;
    this.rpcUrl = rpcUrl;
    this.deployment = deployment;
    this.#databaseUrl = databaseUrl;
    this.#chain = defineChain({
      id: deployment.chainId,
      name: `chain ${deployment.chainId}`,
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    });
    this.client = createPublicClient({ chain: this.#chain, transport: nodeTransport(rpcUrl), pollingInterval: 100 });
    this.logs = new LogReader(this.client, 10_000n);
  }

  /** Reads deployment and addresses, from the environment or the data folder of a local stack. */
  static read(flags: Flags, env: NodeJS.ProcessEnv): Operator {
    const dataDir = resolve(ROOT, env["DATA_DIR"] || ".data");
    const stackFile = join(dataDir, "stack.json");
    const stack = existsSync(stackFile) ? JSON.parse(readFileSync(stackFile, "utf8")) : {};
    const file = resolve(env["DEPLOYMENT_FILE"] || join(dataDir, "deployment.json"));
    const rpcUrl = env["RPC_URL"] || stack.rpc_url;
    if (!existsSync(file)) {
      throw new OperatorError(
        `there is no deployment file ${file}: set DEPLOYMENT_FILE, or DATA_DIR to a stack's data folder`,
      );
    }
    if (typeof rpcUrl !== "string") throw new OperatorError("set RPC_URL to a node of the settlement chain");
    const fault = nodeUrlFault(rpcUrl, "RPC_URL");
    if (fault !== null) throw new OperatorError(fault);
    const deployment = parseDeployment(readFileSync(file, "utf8"), file);
    return new Operator(flags, env, rpcUrl, deployment, env["DATABASE_URL"] || stack.database_url);
  }

  /** Makes sure that the node is of the deployment's chain; every command that looks at the chain begins with it. */
  async checkChain(): Promise<void> {
    const { chainId, startBlock, startBlockHash } = this.deployment;
    const host = nodeHost(this.rpcUrl);
    const found = await this.client.getChainId().catch((error: unknown) => {
      throw new OperatorError(`no node answers at ${host}: ${firstLine(error)}`);
    });
    if (found !== chainId)
      throw new OperatorError(`the node at ${host} is chain ${found}, the deployment is on chain ${chainId}`);
    const block = await this.client.getBlock({ blockNumber: BigInt(startBlock) }).catch(() => null);
    if (block?.hash !== startBlockHash) {
      throw new OperatorError(`the node at ${host} is another chain of the id ${chainId} than the deployment's`);
    }
  }

  get databaseUrl(): string {
    if (!this.#databaseUrl) throw new OperatorError("set DATABASE_URL to the gateway's PostgreSQL");
    return this.#databaseUrl;
  }

  /** Who signs. The key comes from the environment only: arguments are seen by everyone on the machine. */
  get signer(): Signer {
    return createWalletClient({
      chain: this.#chain,
      transport: nodeTransport(this.rpcUrl),
      account: privateKeyToAccount(this.privateKey),
    });
  }

  get privateKey(): Hex {
    const key = this.#env["OPERATOR_PRIVATE_KEY"];
    if (key === undefined || !/^0x[0-9a-fA-F]{64}$/.test(key)) {
      throw new OperatorError("set OPERATOR_PRIVATE_KEY (0x and 64 hex digits) to the key that signs this transaction");
    }
    return key as Hex;
  }

  /** Whether transactions are sent, or only shown. */
  get sends(): boolean {
    return this.flags["yes"] === true;
  }

  /** The contracts that commands call. */
  get contracts() {
    const { contracts } = this.deployment;
    return {
      escrow: { name: "InferenceEscrow", address: contracts.InferenceEscrow, abi: inferenceEscrowAbi },
      catalog: { name: "ModelCatalog", address: contracts.ModelCatalog, abi: modelCatalogAbi },
      registry: { name: "WorkerRegistry", address: contracts.WorkerRegistry, abi: workerRegistryAbi },
      panel: { name: "ArbitrationPanel", address: contracts.ArbitrationPanel, abi: arbitrationPanelAbi },
      treasury: { name: "ProtocolTreasury", address: contracts.ProtocolTreasury, abi: protocolTreasuryAbi },
      governor: { name: "ProtocolGovernor", address: contracts.ProtocolGovernor, abi: protocolGovernorAbi },
      serviceToken: { name: "ServiceToken", address: contracts.ServiceToken, abi: serviceTokenAbi },
    } as const;
  }

  get addresses() {
    const { contracts } = this.deployment;
    const {
      InferenceEscrow: escrow,
      ModelCatalog: catalog,
      WorkerRegistry: registry,
      ArbitrationPanel: panel,
    } = contracts;
    const { Stablecoin: stablecoin, ServiceToken: serviceToken, ProtocolTreasury: treasury } = contracts;
    return { escrow, catalog, registry, panel, stablecoin, serviceToken, treasury: [treasury] as readonly Address[] };
  }
}
