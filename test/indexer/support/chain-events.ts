import type { Hex } from "viem";
import { decodeProtocolEvent } from "../../../protocol/events.ts";
import { chainPosition } from "../../../protocol/index-schema.ts";
import type { World } from "./world.ts";

export type ChainEvent = { name: string; position: number; txHash: Hex };

/** Every event of the protocol as the node itself tells it: what the index is held against. */
export async function chainEvents({ reader, deployment }: World): Promise<ChainEvent[]> {
  const { InferenceEscrow, ModelCatalog, WorkerRegistry, ProtocolTreasury, ArbitrationPanel } = deployment.contracts;
  const logs = await reader.getLogs({
    address: [InferenceEscrow, ModelCatalog, WorkerRegistry, ProtocolTreasury, ArbitrationPanel],
    fromBlock: 0n,
  });
  return logs.flatMap((log) => {
    const event = decodeProtocolEvent({ topics: log.topics, data: log.data });
    if (event === null) return [];
    return [{ name: event.name, position: chainPosition(log.blockNumber, log.logIndex), txHash: log.transactionHash }];
  });
}
