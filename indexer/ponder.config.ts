import { readFileSync } from "node:fs";
import { createConfig } from "ponder";
import { parseDeployment } from "../protocol/deployment.ts";
import { inferenceEscrowAbi, modelCatalogAbi, protocolTreasuryAbi, workerRegistryAbi } from "../protocol/generated/abi.ts";

// indexer/main.ts has checked the environment: this file is only ever read through it.
const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: start the indexer with \`node indexer/main.ts\``);
  return value;
};

const file = env("DEPLOYMENT_FILE");
const { chainId, startBlock, contracts } = parseDeployment(readFileSync(file, "utf8"), file);
const ws = process.env.WS_URL;

export default createConfig({
  // 2 connections for itself, the rest in thirds: more than enough for one chain, and no hog of a small PostgreSQL.
  database: { kind: "postgres", connectionString: env("DATABASE_URL"), poolConfig: { max: 14 } },
  chains: {
    settlement: {
      id: chainId,
      rpc: env("RPC_URL"),
      // A subscription sees a block about 50 ms sooner than polling does; polling is what is left when it breaks.
      ...(ws === undefined ? {} : { ws }),
      pollingInterval: 200,
    },
  },
  contracts: {
    InferenceEscrow: { chain: "settlement", abi: inferenceEscrowAbi, address: contracts.InferenceEscrow, startBlock },
    WorkerRegistry: { chain: "settlement", abi: workerRegistryAbi, address: contracts.WorkerRegistry, startBlock },
    ModelCatalog: { chain: "settlement", abi: modelCatalogAbi, address: contracts.ModelCatalog, startBlock },
    ProtocolTreasury: { chain: "settlement", abi: protocolTreasuryAbi, address: contracts.ProtocolTreasury, startBlock },
  },
});
