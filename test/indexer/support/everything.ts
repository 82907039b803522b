import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { Ruling } from "../../../protocol/job-status.ts";
import { type DisputeStory, disputes, OTHER_HASH } from "./disputes.ts";
import type { World } from "./world.ts";

/** Seconds. */
const DAY = 86_400;
/** A token that refuses every call. */
const REVERT = "0x60006000fd";

type JobStory = Record<
  | "fused"
  | "slow"
  | "failed"
  | "refunded"
  | "open"
  | "deferred"
  | "reassigned"
  | "batchedFirst"
  | "batchedSecond"
  | "authorized",
  Hex
>;
type EarningsStory = Record<"earning" | "earningRejected" | "earningExpired" | "earningEquivocated", Hex>;
export type Story = JobStory & DisputeStory & EarningsStory;

/** Uses the protocol so that each of its events happens at least once. */
export async function everything(world: World): Promise<Story> {
  // The registry does not ask the catalog, which has no model 60,000.
  await world.register([5, 6, 5, 60_000]);
  await world.deposit(5_000);
  await world.deposit(200);
  await world.send(world.client, world.call("InferenceEscrow", "withdraw", 50, world.client.address));
  const begun = { ...(await jobs(world)), ...(await disputes(world)) };
  await governance(world);
  await operators(world);
  await workerLife(world);
  await reserve(world);
  await world.send(world.client, world.call("InferenceEscrow", "claimTo", world.owner.address));
  return { ...begun, ...(await earnings(world)) };
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
  await world.send(world.gateway, await world.complete(reassigned));

  const failed = await locked();
  await world.send(world.gateway, world.call("InferenceEscrow", "fail", failed, 1));

  // The token refuses payouts: of a job that settles alone, and of two in a batch, whose fee is one sum.
  const deferred = await locked();
  const [batchedFirst, batchedSecond] = [await locked(), await locked()];
  const batch = world.batch([await world.complete(batchedFirst), await world.complete(batchedSecond)]);
  const { Stablecoin } = world.deployment.contracts;
  const code = await world.chain.rpc("eth_getCode", [Stablecoin, "latest"]);
  await world.chain.rpc("anvil_setCode", [Stablecoin, REVERT]);
  await world.send(world.gateway, await world.complete(deferred));
  await world.send(world.gateway, batch);
  await world.chain.rpc("anvil_setCode", [Stablecoin, code]);
  await world.send(world.client, world.call("InferenceEscrow", "claim", world.workerOwner.address));

  // A batch of which the second item cannot work.
  const { id: open, call } = await world.lock(6);
  await world.send(world.gateway, world.batch([call, world.call("InferenceEscrow", "refund", open)]));

  const authorized = await authorizedJob(world);

  const refunded = await locked();
  await world.wait(61);
  await world.send(world.gateway, world.call("InferenceEscrow", "refund", refunded));
  return { fused, slow, failed, refunded, open, deferred, reassigned, batchedFirst, batchedSecond, authorized };
}

/** A job on terms that the client signed. The wallet chose no operator for a while. */
async function authorizedJob(world: World): Promise<Hex> {
  const escrow = (name: string, ...args: unknown[]) =>
    world.send(world.client, world.call("InferenceEscrow", name, ...args));
  const key = privateKeyToAccount(generatePrivateKey());
  await escrow("chooseOperator", 0);
  await escrow("chooseOperator", 1);
  await escrow("setAuthorizationKey", key.address);
  const { id, call } = await world.lockAuthorized(key);
  await world.send(world.gateway, call);
  await world.send(world.gateway, await world.complete(id));
  await escrow("setAuthorizationKey", "0x0000000000000000000000000000000000000000");
  return id;
}

async function governance(world: World): Promise<void> {
  const { owner, gateway } = world;
  const { Stablecoin, ProtocolTreasury } = world.deployment.contracts;
  const escrow = (name: string, ...args: unknown[]) => world.send(owner, world.call("InferenceEscrow", name, ...args));
  await escrow("admitOperator", world.client.address);
  await escrow("stopOperator", 2, true);
  await escrow("scheduleFee", 500, 10);
  await escrow("setCompensationCap", 10_000);
  await escrow("setTreasury", ProtocolTreasury);
  await escrow("setGuardian", gateway.address);
  await world.send(gateway, world.call("InferenceEscrow", "setPaused", true));
  await escrow("setPaused", false);
  await world.send(owner, world.call("ProtocolTreasury", "pay", Stablecoin, owner.address, 1n));
  await world.send(owner, world.call("ModelCatalog", "schedulePrices", 4, 20, 10));
  await world.send(owner, world.call("ModelCatalog", "scheduleRetirement", 8, (await world.now()) + 100));
  await world.send(owner, world.call("WorkerRegistry", "scheduleStakeTerms", 900_000_000n, 400_000_000n));
  await world.send(owner, world.call("WorkerRegistry", "scheduleSvcWorth", 9_000));
  await world.send(owner, world.call("ArbitrationPanel", "setArbiters", [owner.address], 1));
}

async function operators(world: World): Promise<void> {
  const { operatorAdmin: admin, client } = world;
  const second = privateKeyToAccount(generatePrivateKey());
  await world.addSigner(second);
  await world.send(admin, world.call("InferenceEscrow", "rotateSigners", 1, [], [], [second.address]));
  await world.send(client, world.call("InferenceEscrow", "setOperatorAdmin", 2, world.owner.address));
  await world.send(admin, world.call("InferenceEscrow", "announceReserveWithdrawal", 1, 5));
  await world.fundReserve(30);
}

async function workerLife(world: World): Promise<void> {
  const { worker, workerOwner } = world;
  const registry = (name: string, ...args: unknown[]) =>
    world.send(workerOwner, world.call("WorkerRegistry", name, worker.address, ...args));
  await registry("addStake", 5_000_000n);
  await registry("setPayout", workerOwner.address);
  // The contract takes any bytes, and PostgreSQL's text has no NUL.
  await registry("setEndpoint", "https://\0moved.example");
  await registry("setEndpoint", "https://moved.example");
  await registry("setHosting", [1, 6], false);
  await registry("startUnbonding");
  await registry("cancelUnbonding");
  await registry("startUnbonding");
  await world.wait(1_000);
  await registry("withdrawStake", workerOwner.address);
  await registry("addStake", 950_000_000n);
}

/** What was announced before the worker's unbonding is due after it. */
async function reserve(world: World): Promise<void> {
  const { operatorAdmin: admin } = world;
  await world.send(admin, world.call("InferenceEscrow", "withdrawReserve", 1, admin.address));
  await world.send(admin, world.call("InferenceEscrow", "announceReserveWithdrawal", 1, 3));
}

/** The announced fee is in force, and half of it the operator's: jobs of which it earns, keeps and loses its part, and a withdrawal. */
async function earnings(world: World): Promise<EarningsStory> {
  const { client, owner, operatorAdmin: admin } = world;
  const { notice } = await world.read<{ notice: number }>("InferenceEscrow", "windows");
  await world.wait(notice);
  const today = async () => Math.floor((await world.now()) / DAY);
  const first = await today();
  const earning = await world.settledJob();
  const earningRejected = await world.settledJob();
  await world.dispute(earningRejected, OTHER_HASH, client);
  await world.send(owner, world.call("ArbitrationPanel", "vote", earningRejected, Ruling.Rejected));
  const earningExpired = await world.settledJob();
  await world.dispute(earningExpired, OTHER_HASH, client);
  await world.wait(201);
  await world.send(client, world.call("InferenceEscrow", "expire", earningExpired));
  // The slash leaves the worker too little for another job.
  const earningEquivocated = await world.settledJob();
  await world.equivocate(earningEquivocated);
  await world.send(world.workerOwner, world.call("WorkerRegistry", "addStake", world.worker.address, 390_000_000n));
  const last = await today();
  await world.wait(Number(await world.read("InferenceEscrow", "LONGEST_RISK")) + DAY);
  await world.send(admin, world.call("InferenceEscrow", "withdrawEarnings", 1, first, last, admin.address));
  return { earning, earningRejected, earningExpired, earningEquivocated };
}
