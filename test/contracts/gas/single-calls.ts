/** Gas of calls that are each sent alone. */
import { AUTHORIZATION_KEY } from "../support/authorizations.ts";
import { nextBlockAt } from "../support/chain.ts";
import { nameDisputeKey, sendDisputeByKey } from "../support/dispute-keys.ts";
import {
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  sendVote,
  settledJob,
  waitForVotes,
} from "../support/disputes.ts";
import { dayOf, sendWithdrawal, vestsAt } from "../support/earnings.ts";
import { Behaviour, type HostileWorld } from "../support/hostile.ts";
import {
  acknowledgedJob,
  lockJob,
  provenJob,
  sendAcknowledge,
  sendComplete,
  sendFinalize,
  sendProof,
} from "../support/jobs.ts";
import { consent, OPERATOR, OTHER_OPERATOR, provide, type World } from "../support/world.ts";

// Gas of the calls that a job does not always need, each sent alone.

type Sent = Promise<{ wait(): Promise<{ gasUsed: bigint } | null> }>;

export async function gasOf(sent: Sent): Promise<number> {
  return Number((await (await sent).wait())?.gasUsed ?? 0n);
}

export async function gasOfOperations(world: World): Promise<Record<string, number>> {
  const { escrow, client, stranger, gateway, operatorAdmin } = world;
  for (const wallet of [client, stranger]) {
    await provide(world, wallet, 10_000_000n);
  }
  const gas: Record<string, number> = {};
  gas["deposit, first"] = await gasOf(escrow.connect(stranger).deposit(100, OPERATOR));
  gas["deposit"] = await gasOf(escrow.connect(client).deposit(100, OPERATOR));
  gas["withdraw"] = await gasOf(escrow.connect(client).withdraw(10, client.address));
  gas["chooseOperator"] = await gasOf(escrow.connect(stranger).chooseOperator(OTHER_OPERATOR));
  const key = AUTHORIZATION_KEY.address;
  gas["setAuthorizationKey, first"] = await gasOf(escrow.connect(stranger).setAuthorizationKey(key));
  gas["setDisputeKey, first"] = await gasOf(escrow.connect(stranger).setDisputeKey(key, 8));
  const [added, removed] = [[stranger.address], [world.secondGateway.address]];
  const consents = [await consent(world, stranger, OPERATOR, operatorAdmin.address)];
  const rotating = escrow.connect(operatorAdmin).rotateSigners(OPERATOR, added, consents, removed);
  gas["rotateSigners, one key for another"] = await gasOf(rotating);
  const relayed = await lockJob(world);
  gas["acknowledge by a stranger"] = await gasOf(sendAcknowledge(world, relayed));
  gas["submitProof"] = await gasOf(sendProof(world, relayed));
  const proven = await provenJob(world);
  await nextBlockAt(proven.finalizeFrom);
  gas["finalize"] = await gasOf(sendFinalize(world, proven));
  gas["fail"] = await gasOf(escrow.connect(gateway).fail((await acknowledgedJob(world)).id, 1));
  const late = await lockJob(world);
  await nextBlockAt(late.lockedAt + 150);
  gas["refund"] = await gasOf(escrow.connect(stranger).refund(late.id));
  return gas;
}

/** Of a job whose operator earned: its dispute and what ends it, each call sent alone; and the withdrawal of a day's earnings. */
export async function gasOfEarnings(world: World): Promise<Record<string, number>> {
  await world.token.mint(world.treasury, 10_000_000n);
  const gas: Record<string, number> = {};
  const [job, last] = [await settledJob(world), await settledJob(world)];
  gas["openDispute by the operator, operator earned"] = await gasOf(sendDispute(world, job));
  const { openedAt } = await world.escrow.disputeOf(job.id);
  const silent = { ...job, openedAt: Number(openedAt), ruleFrom: 0 };
  gas["expire, operator earned"] = await gasOf(sendExpire(world, silent));
  await nextBlockAt(vestsAt(last));
  gas["withdrawEarnings, one day"] = await gasOf(sendWithdrawal(world, [dayOf(last), dayOf(last)]));
  return gas;
}

/** The dearest item a batch can meet: both payees burn all the gas they get, and both are deferred for the first time. */
export async function gasOfWorstCase(world: HostileWorld): Promise<Record<string, number>> {
  const { escrow, hostile, worker, treasury } = world;
  const payees = [worker.payout, await treasury.getAddress()];
  for (const payee of payees) await hostile.setBehaviour(payee, Behaviour.BurnGas);
  const worst = await gasOf(sendComplete(world, await lockJob(world)));
  await hostile.setBehaviour(worker.payout, Behaviour.Standard);
  const claim = await gasOf(escrow.claim(worker.payout));
  return { "complete from Locked, both payouts burn their gas": worst, "claim, first tokens of the payee": claim };
}

// Gas of disputes and their ends, each call sent alone.

/** The treasury holds what earlier jobs brought in. */
export async function gasOfDisputes(world: World): Promise<Record<string, number>> {
  await world.token.mint(world.treasury, 10_000_000n);
  const gas: Record<string, number> = {};
  gas["openDispute by the operator, settled job"] = await gasOf(sendDispute(world, await settledJob(world)));
  gas["openDispute by the operator, proven job"] = await gasOf(sendDispute(world, await provenJob(world)));
  const byWallet = { by: world.client };
  gas["openDispute by the wallet"] = await gasOf(sendDispute(world, await settledJob(world), byWallet));
  await nameDisputeKey(world);
  gas["disputeByKey"] = await gasOf(sendDisputeByKey(world, await settledJob(world)));
  gas["disputeByKey that joins"] = await gasOf(sendDisputeByKey(world, await disputedJob(world)));
  gas["joinDispute"] = await gasOf(sendJoin(world, await disputedJob(world)));
  // All jobs come before the first slash, which leaves the worker without the stake that a job needs.
  const [voted, silent, equivocated] = [await disputedJob(world), await disputedJob(world), await settledJob(world)];
  const [rejected, hidden] = [await disputedJob(world, byWallet), await disputedProvenJob(world)];
  await waitForVotes(world, hidden);
  gas["vote, first"] = await gasOf(sendVote(world, voted, Ruling.WorkerAtFault));
  const ruling = sendVote(world, voted, Ruling.WorkerAtFault, world.arbiters[1]);
  gas["vote that rules against the worker"] = await gasOf(ruling);
  gas["vote that rules against the gateway, proven job"] = await gasOf(
    sendRuling(world, hidden, Ruling.GatewayAtFault),
  );
  gas["vote that rejects"] = await gasOf(sendRuling(world, rejected, Ruling.Rejected));
  gas["proveEquivocation of a settled job"] = await gasOf(sendEquivocation(world, equivocated));
  gas["expire, settled job"] = await gasOf(sendExpire(world, silent));
  return gas;
}
