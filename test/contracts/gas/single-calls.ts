/** Gas of calls that are each sent alone. */
import { AUTHORIZATION_KEY } from "../support/authorizations.ts";
import { nextBlockAt } from "../support/chain.ts";
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
  const deposit = await gasOf(escrow.connect(client).deposit(100, OPERATOR));
  const firstDeposit = await gasOf(escrow.connect(stranger).deposit(100, OPERATOR));
  const withdraw = await gasOf(escrow.connect(client).withdraw(10, client.address));
  const choose = await gasOf(escrow.connect(stranger).chooseOperator(OTHER_OPERATOR));
  const authorize = await gasOf(escrow.connect(stranger).setAuthorizationKey(AUTHORIZATION_KEY.address));
  const [added, removed] = [[stranger.address], [world.secondGateway.address]];
  const consents = [await consent(world, stranger, OPERATOR, operatorAdmin.address)];
  const rotate = await gasOf(escrow.connect(operatorAdmin).rotateSigners(OPERATOR, added, consents, removed));
  const relayed = await lockJob(world);
  const acknowledge = await gasOf(sendAcknowledge(world, relayed));
  const submitProof = await gasOf(sendProof(world, relayed));
  const proven = await provenJob(world);
  await nextBlockAt(proven.finalizeFrom);
  const finalize = await gasOf(sendFinalize(world, proven));
  const failing = await acknowledgedJob(world);
  const fail = await gasOf(escrow.connect(gateway).fail(failing.id, 1));
  const late = await lockJob(world);
  await nextBlockAt(late.lockedAt + 150);
  const refund = await gasOf(escrow.connect(stranger).refund(late.id));
  return {
    "deposit, first": firstDeposit,
    deposit,
    withdraw,
    chooseOperator: choose,
    "setAuthorizationKey, first": authorize,
    "rotateSigners, one key for another": rotate,
    "acknowledge by a stranger": acknowledge,
    submitProof,
    finalize,
    fail,
    refund,
  };
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
  const byOperator = await gasOf(sendDispute(world, await settledJob(world)));
  const ofProven = await gasOf(sendDispute(world, await provenJob(world)));
  const byWallet = await gasOf(sendDispute(world, await settledJob(world), { by: world.client }));
  const join = await gasOf(sendJoin(world, await disputedJob(world)));
  const gatewayAtFault = await gasOf(sendRuling(world, await disputedProvenJob(world), Ruling.GatewayAtFault));
  const rejected = await gasOf(sendRuling(world, await disputedJob(world, { by: world.client }), Ruling.Rejected));
  // The slashes come last: they leave the worker without the stake that a job needs.
  const [voted, silent, equivocated] = [await disputedJob(world), await disputedJob(world), await settledJob(world)];
  await waitForVotes(world, silent);
  const vote = await gasOf(sendVote(world, voted, Ruling.WorkerAtFault));
  const workerAtFault = await gasOf(sendVote(world, voted, Ruling.WorkerAtFault, world.arbiters[1]));
  const equivocation = await gasOf(sendEquivocation(world, equivocated));
  const expire = await gasOf(sendExpire(world, silent));
  return {
    "openDispute by the operator, settled job": byOperator,
    "openDispute by the operator, proven job": ofProven,
    "openDispute by the wallet": byWallet,
    joinDispute: join,
    "vote, first": vote,
    "vote that rules against the worker": workerAtFault,
    "vote that rules against the gateway, proven job": gatewayAtFault,
    "vote that rejects": rejected,
    "proveEquivocation of a settled job": equivocation,
    "expire, settled job": expire,
  };
}
