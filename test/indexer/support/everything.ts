import { encodeFunctionData, type Hex } from "viem";
import { type DisputeStory, disputes } from "./disputes.ts";
import type { Call, World } from "./world.ts";

/** A token that refuses every call. */
const REVERT = "0x60006000fd";

type JobStory = Record<"fused" | "slow" | "failed" | "refunded" | "open" | "deferred" | "reassigned", Hex>;
export type Story = JobStory & DisputeStory;

/** Uses the protocol so that each of its events happens at least once. */
export async function everything(world: World): Promise<Story> {
  await world.register([5, 6, 5]);
  await world.deposit(5_000);
  await world.deposit(200);
  await world.send(world.client, world.call("InferenceEscrow", "withdraw", 50, world.client.address));
  const story = { ...(await jobs(world)), ...(await disputes(world)) };
  await governance(world);
  await workerLife(world);
  return story;
}

async function jobs(world: World): Promise<JobStory> {
  const locked = () => world.lockedJob();
  const fused = await world.settledJob();

  const slow = await world.provenJob();
  const { completion } = await world.completion(slow);
  await world.wait(61);
  await world.send(world.client, world.call("InferenceEscrow", "finalize", completion));

  const reassigned = await locked();
  await world.send(world.gateway, await world.acknowledge(reassigned, 1));
  await world.send(world.gateway, await world.acknowledge(reassigned, 3));
  await world.send(world.gateway, await world.complete(reassigned, 120, 3));

  const failed = await locked();
  await world.send(world.gateway, world.call("InferenceEscrow", "fail", failed, 1));

  const deferred = await locked();
  const { Stablecoin } = world.deployment.contracts;
  const code = await world.chain.rpc("eth_getCode", [Stablecoin, "latest"]);
  await world.chain.rpc("anvil_setCode", [Stablecoin, REVERT]);
  await world.send(world.gateway, await world.complete(deferred));
  await world.chain.rpc("anvil_setCode", [Stablecoin, code]);
  await world.send(world.client, world.call("InferenceEscrow", "claim", world.workerOwner.address));

  // A batch of which the second item cannot work.
  const { id: open, call } = await world.lock(6);
  const items = [call, world.call("InferenceEscrow", "refund", open)].map(encode);
  await world.send(world.gateway, world.call("InferenceEscrow", "execute", items));

  const refunded = await locked();
  await world.wait(61);
  await world.send(world.gateway, world.call("InferenceEscrow", "refund", refunded));
  return { fused, slow, failed, refunded, open, deferred, reassigned };
}

async function governance(world: World): Promise<void> {
  const { owner, gateway } = world;
  const { Stablecoin, ProtocolTreasury } = world.deployment.contracts;
  const escrow = (name: string, ...args: unknown[]) => world.send(owner, world.call("InferenceEscrow", name, ...args));
  await escrow("addGateway", world.client.address);
  await escrow("setGatewayLocking", world.client.address, false);
  await escrow("scheduleFee", 500);
  await escrow("setTreasury", ProtocolTreasury);
  await escrow("setGuardian", gateway.address);
  await escrow("setPaused", true);
  await escrow("setPaused", false);
  await world.send(owner, world.call("ProtocolTreasury", "pay", Stablecoin, owner.address, 1n));
  await world.send(owner, world.call("ModelCatalog", "schedulePrices", 4, 20, 10));
  await world.send(owner, world.call("ModelCatalog", "scheduleRetirement", 8, (await world.now()) + 100));
  await world.send(owner, world.call("WorkerRegistry", "scheduleStakeTerms", 900_000_000n, 400_000_000n));
  await world.send(owner, world.call("ArbitrationPanel", "setArbiters", [owner.address], 1));
}

async function workerLife(world: World): Promise<void> {
  const { worker, workerOwner } = world;
  const registry = (name: string, ...args: unknown[]) =>
    world.send(workerOwner, world.call("WorkerRegistry", name, worker.address, ...args));
  await registry("addStake", 5_000_000n);
  await registry("setPayout", workerOwner.address);
  await registry("setEndpoint", "https://moved.example");
  await registry("setHosting", [1, 6], false);
  await registry("startUnbonding");
  await registry("cancelUnbonding");
  await registry("startUnbonding");
  await world.wait(1_000);
  await registry("withdrawStake", workerOwner.address);
  await registry("addStake", 950_000_000n);
}

function encode({ abi, functionName, args }: Call): Hex {
  return encodeFunctionData({ abi, functionName, args });
}
