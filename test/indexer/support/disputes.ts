import { type Hex, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { Ruling } from "../../../protocol/job-status.ts";
import type { World } from "./world.ts";

/** What the client says it received. */
export const OTHER_HASH = answerHash("something else");
/** What the wallet adds to its operator's dispute. */
export const OWN_HASH = answerHash("what the wallet itself received");
/** Charge of the story's jobs in token units. */
const CHARGE_UNITS = 80_000n;
/** From a settlement or a proof until the operator's dispute of it can be ruled, seconds. */
const WINDOW = 66;

export type DisputeStory = Record<
  | "guilty"
  | "joined"
  | "hidden"
  | "indebted"
  | "unpaid"
  | "rejected"
  | "doubted"
  | "expired"
  | "contested"
  | "equivocatedOpen"
  | "equivocatedDoubted"
  | "equivocatedDisputed"
  | "equivocatedProven"
  | "equivocatedSettled",
  Hex
>;

/** Every way a dispute can begin and end, and equivocation from each state that it changes. */
export async function disputes(world: World): Promise<DisputeStory> {
  const { client, gateway, workerOwner } = world;
  // Seven slashes of 500 SVC must leave the worker eligible.
  await world.send(workerOwner, world.call("WorkerRegistry", "addStake", world.worker.address, 4_000_000_000n));
  await fill(world, 20n * CHARGE_UNITS);
  await world.send(client, world.call("InferenceEscrow", "setLimits", true, 4_000, false));

  const guilty = await world.settledJob();
  await world.dispute(guilty, OTHER_HASH, gateway);
  await world.wait(WINDOW);
  await world.vote(guilty, Ruling.Rejected, 2);
  await world.rule(guilty, Ruling.WorkerAtFault);

  const joined = await world.settledJob();
  await world.dispute(joined, OTHER_HASH, gateway);
  await world.send(client, world.call("InferenceEscrow", "joinDispute", joined, OWN_HASH));
  await world.rule(joined, Ruling.Rejected);

  // The operator's bond of a proven job is lost to the worker.
  const doubted = await world.provenJob();
  await world.dispute(doubted, OTHER_HASH, gateway);
  await world.wait(WINDOW);
  await world.rule(doubted, Ruling.Rejected);

  // Its bond returns when the worker is convicted without a vote.
  const equivocatedDoubted = await world.provenJob();
  await world.dispute(equivocatedDoubted, OTHER_HASH, gateway);
  await world.equivocate(equivocatedDoubted);

  // The operator hid the answer: it pays the worker.
  const hidden = await world.provenJob();
  await world.dispute(hidden, OTHER_HASH, client);
  await world.rule(hidden, Ruling.GatewayAtFault);

  const indebted = await owed(world);
  const unpaid = await owedToWorker(world);
  const equivocatedDisputed = await convictedDuring(world);

  // The client's dispute key signs for one that it opens, and for one that it joins.
  const key = privateKeyToAccount(generatePrivateKey());
  await world.send(client, world.call("InferenceEscrow", "setDisputeKey", key.address, 1));
  const rejected = await world.provenJob();
  await world.disputeByKey(rejected, OTHER_HASH, key);
  await world.rule(rejected, Ruling.Rejected);

  const expired = await world.settledJob();
  await world.dispute(expired, OTHER_HASH, gateway);
  await world.disputeByKey(expired, OWN_HASH, key);
  await world.send(client, world.call("InferenceEscrow", "setDisputeKey", zeroAddress, 0));
  await world.wait(201);
  await world.send(client, world.call("InferenceEscrow", "expire", expired));

  const equivocatedOpen = await world.lockedJob();
  await world.send(gateway, await world.acknowledge(equivocatedOpen));
  await world.equivocate(equivocatedOpen);
  const equivocatedProven = await world.provenJob();
  await world.equivocate(equivocatedProven);
  const equivocatedSettled = await convictedTwice(world);

  const contested = await world.settledJob();
  await world.dispute(contested, OTHER_HASH, gateway);
  await world.wait(WINDOW);
  await world.vote(contested, Ruling.Rejected, 0);
  await world.vote(contested, Ruling.GatewayAtFault, 0);
  return {
    guilty,
    joined,
    hidden,
    indebted,
    unpaid,
    rejected,
    doubted,
    expired,
    contested,
    equivocatedDoubted,
    equivocatedDisputed,
    equivocatedOpen,
    equivocatedProven,
    equivocatedSettled,
  };
}

const fill = (world: World, units: bigint) =>
  world.send(world.owner, world.call("Stablecoin", "mint", world.deployment.contracts.ProtocolTreasury, units));

/** The reserve has half of the charge, and the treasury has nothing when the ruling comes and pays when it has. */
async function owed(world: World): Promise<Hex> {
  const { client } = world;
  const jobId = await world.settledJob();
  await world.dispute(jobId, OTHER_HASH, client);
  await drain(world);
  await world.rule(jobId, Ruling.GatewayAtFault);
  await fill(world, CHARGE_UNITS / 4n);
  await world.send(client, world.call("InferenceEscrow", "collectDebt", jobId));
  await fill(world, 20n * CHARGE_UNITS);
  await world.send(client, world.call("InferenceEscrow", "collectDebt", jobId));
  return jobId;
}

/** The operator hid the answer, and neither its reserve nor the treasury can pay the worker. */
async function owedToWorker(world: World): Promise<Hex> {
  const jobId = await world.provenJob();
  await world.dispute(jobId, OTHER_HASH, world.client);
  await drain(world);
  await world.rule(jobId, Ruling.GatewayAtFault);
  await fill(world, 20n * CHARGE_UNITS);
  return jobId;
}

async function drain(world: World): Promise<void> {
  const { Stablecoin, ProtocolTreasury } = world.deployment.contracts;
  const all = await world.read<bigint>("Stablecoin", "balanceOf", ProtocolTreasury);
  await world.send(world.owner, world.call("ProtocolTreasury", "pay", Stablecoin, world.owner.address, all));
}

/** The charge stood after one dispute; its worker equivocates, and the wallet disputes again, without a bond. */
async function convictedTwice(world: World): Promise<Hex> {
  const jobId = await world.settledJob();
  await world.dispute(jobId, OTHER_HASH, world.client);
  await world.rule(jobId, Ruling.Rejected);
  await world.equivocate(jobId);
  await world.dispute(jobId, OTHER_HASH, world.client);
  await world.rule(jobId, Ruling.WorkerAtFault);
  return jobId;
}

/** Its worker equivocates while the charge is disputed; the panel rejects that dispute, and rules otherwise on the one that follows. */
async function convictedDuring(world: World): Promise<Hex> {
  const jobId = await world.settledJob();
  await world.dispute(jobId, OTHER_HASH, world.client);
  await world.equivocate(jobId);
  await world.rule(jobId, Ruling.Rejected);
  await world.dispute(jobId, OTHER_HASH, world.client);
  await world.rule(jobId, Ruling.GatewayAtFault);
  return jobId;
}
