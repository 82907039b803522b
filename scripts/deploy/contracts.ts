/** The protocol's contracts on a chain: their views, typed, and their events. */
import {
  type Abi,
  type AbiEvent,
  type Address,
  type ContractEventName,
  getContract,
  type Log,
  type PublicClient,
  parseEventLogs,
  toEventSelector,
} from "viem";
import type { Contracts } from "../../protocol/deployment.ts";
import * as abis from "../../protocol/generated/abi.ts";
import { LogReader } from "../../verify/chain.ts";

export type Protocol = ReturnType<typeof protocolAt>;

/** Every contract of a deployment, with its name and its views. */
export function protocolAt(client: PublicClient, at: Contracts) {
  const contract = <const A extends Abi>(name: keyof Contracts, abi: A) => ({
    name,
    ...getContract({ address: at[name], abi, client }),
  });
  return {
    escrow: contract("InferenceEscrow", abis.inferenceEscrowAbi),
    catalog: contract("ModelCatalog", abis.modelCatalogAbi),
    registry: contract("WorkerRegistry", abis.workerRegistryAbi),
    panel: contract("ArbitrationPanel", abis.arbitrationPanelAbi),
    treasury: contract("ProtocolTreasury", abis.protocolTreasuryAbi),
    governor: contract("ProtocolGovernor", abis.protocolGovernorAbi),
    timelock: contract("ProtocolTimelock", abis.protocolTimelockAbi),
    serviceToken: contract("ServiceToken", abis.serviceTokenAbi),
    stablecoin: contract("Stablecoin", abis.testStablecoinAbi),
  };
}

/** Blocks whose events are asked for at once. */
export const SPAN = 10_000n;

/** All events of these names since a block, in the order of the chain. */
export async function readEvents<const A extends Abi, N extends ContractEventName<A>>(
  client: PublicClient,
  { address, abi }: { address: Address; abi: A },
  names: N[],
  from: bigint,
) {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const items = abi.filter((item) => item.type === "event" && (names as string[]).includes(item.name));
  const topics = (items as AbiEvent[]).map((item) => toEventSelector(item));
  const logs = await new LogReader(client, SPAN).read({ address, topics: [topics] }, from, head);
  return parseEventLogs({ abi, eventName: names, logs: logs as unknown as Log[] });
}

/** Every key that was ever added, with what the escrow says of it; removedAt is 0 while it is in office. */
export async function readSigners(client: PublicClient, escrow: Protocol["escrow"], startBlock: bigint) {
  const events = await readEvents(client, escrow, ["SignerAdded"], startBlock);
  const keys = [...new Set(events.map(({ args }) => args.signer))];
  return await Promise.all(
    keys.map(async (key) => {
      const [operator, removedAt] = await escrow.read.signerOf([key]);
      return { key, operator, removedAt };
    }),
  );
}
