/** Gas of the calls that a job does not always need, each sent alone. */

import { AUTHORIZATION_KEY } from "../support/authorizations.ts";
import { nextBlockAt } from "../support/chain.ts";
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
