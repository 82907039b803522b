import { readFileSync } from "node:fs";
import { createConfig } from "ponder";
import { parseDeployment } from "../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolTreasuryAbi,
  workerRegistryAbi,
} from "../protocol/generated/abi.ts";

// indexer/main.ts has checked the environment: this file is only ever read through it.
const env = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: start the indexer with \`node indexer/main.ts\``);
  return value;
};

/**
 * Ponder allows an endpoint 20 requests a second at first, and 5 % more after each 10 busy seconds: with two requests a
 * block, a chain of 15 blocks a second outruns it for minutes. Endpoints count one by one, so ours is named several times.
 */
const endpoints = (url: string, perSecond: number): string[] =>
  Array<string>(Math.max(1, Math.ceil(perSecond / 20))).fill(url);

const file = env("DEPLOYMENT_FILE");
const { chainId, startBlock, contracts } = parseDeployment(readFileSync(file, "utf8"), file);

export default createConfig({
  // 2 connections for itself, the rest in thirds: more than enough for one chain, and no hog of a small PostgreSQL.
  database: { kind: "postgres", connectionString: env("DATABASE_URL"), poolConfig: { max: 14 } },
  chains: {
    settlement: {
      id: chainId,
      rpc: endpoints(env("RPC_URL"), Number(env("INDEXER_RPC_PER_SECOND"))),
      // Without it Ponder would read the node's refusals, which launch/log-ranges.ts deals with.
      ethGetLogsBlockRange: Number(env("INDEXER_LOG_BLOCKS")),
      // New blocks are announced by launch/head-feed.ts, whether or not the node has a WebSocket.
      ws: env("INDEXER_HEADS_URL"),
    },
  },
  contracts: {
    InferenceEscrow: { chain: "settlement", abi: inferenceEscrowAbi, address: contracts.InferenceEscrow, startBlock },
    WorkerRegistry: { chain: "settlement", abi: workerRegistryAbi, address: contracts.WorkerRegistry, startBlock },
    ModelCatalog: { chain: "settlement", abi: modelCatalogAbi, address: contracts.ModelCatalog, startBlock },
    ProtocolTreasury: {
      chain: "settlement",
      abi: protocolTreasuryAbi,
      address: contracts.ProtocolTreasury,
      startBlock,
    },
    ArbitrationPanel: {
      chain: "settlement",
      abi: arbitrationPanelAbi,
      address: contracts.ArbitrationPanel,
      startBlock,
    },
  },
});
