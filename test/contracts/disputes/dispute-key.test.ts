/** A wallet's dispute key: it disputes by signature, which anyone brings, and can do nothing else. */
import { expect } from "chai";
import { getAddress, zeroAddress } from "viem";
import {
  compactSignature,
  type DisputeRequest,
  disputeRequestTypes,
  escrowDomain,
} from "../../../protocol/messages.ts";
import { signingKey } from "../support/actors.ts";
import { books } from "../support/books.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import { DISPUTE_KEY, disputeRequestOf, MOST_OPEN, nameDisputeKey, sendDisputeByKey } from "../support/dispute-keys.ts";
import {
  BOND,
  disputedJob,
  OTHER_HASH,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import {
  type Job,
  LOCK_CREDITS,
  lockJob,
  PROOF_HASH,
  provenJob,
  sendComplete,
  signedCompletion,
} from "../support/jobs.ts";
import { NO_SIGNATURE, signDisputeRequest } from "../support/sign.ts";
import { buyCredits, CHAIN_ID, CLIENT_CREDITS, provide, type World } from "../support/world.ts";

/** A world whose client has named a dispute key. */
async function freshKeyedWorld() {
  const world = await freshWorld();
  await nameDisputeKey(world);
  return world;
}

const keyOf = async ({ escrow, client }: World) => {
  const { key, sequence, mostOpen, open } = await escrow.disputeKeyOf(client.address);
  return [key, Number(sequence), Number(mostOpen), Number(open)];
};
const openOf = async (world: World) => (await keyOf(world))[3];

/** The dispute is refused because the wallet's key did not sign it. */
async function expectNotSigned(job: Job, sending: Promise<unknown>) {
  const another = (recovered: string) => recovered !== DISPUTE_KEY.address;
  await expectRevert(sending, "Dispute_NotSigned", job.id, DISPUTE_KEY.address, another);
}

describe("setDisputeKey", () => {
  it("is the wallet's own call, tells key and bound, and counts", async () => {
    const { world, escrow, client, stranger, gateway, owner } = await freshWorld();
    const sent = escrow.connect(client).setDisputeKey(DISPUTE_KEY.address, 255);
    await expect(sent).to.emit(escrow, "DisputeKeySet").withArgs(1, client.address, DISPUTE_KEY.address, 2, 255);
    expect(await keyOf(world)).to.deep.equal([DISPUTE_KEY.address, 2, 255, 0]);
    const account = await escrow.accountOf(client.address);
    expect([account.sequence, account.flags, account.free]).to.deep.equal([2n, 0n, BigInt(CLIENT_CREDITS)]);
    for (const caller of [stranger, gateway, owner]) {
      const refused = escrow.connect(caller).setDisputeKey(DISPUTE_KEY.address, 1);
      await expectRevert(refused, "Ledger_UnknownAccount", caller.address);
    }
  });

  it("with zero revokes: what was signed is void at once, and no bound is left", async () => {
    const { world, escrow, client } = await freshKeyedWorld();
    const job = await settledJob(world);
    const request = await disputeRequestOf(world, job);
    const signature = await signDisputeRequest(escrow, DISPUTE_KEY, request);
    await expect(escrow.connect(client).setDisputeKey(zeroAddress, 9))
      .to.emit(escrow, "DisputeKeySet")
      .withArgs(1, client.address, zeroAddress, 3, 0);
    expect(await keyOf(world)).to.deep.equal([zeroAddress, 3, 0, 0]);
    await expectRevert(
      sendDisputeByKey(world, job, { ...request, signature }),
      "Dispute_NotSigned",
      job.id,
      zeroAddress,
      () => true,
    );
  });

  it("revokes for the next item of the same batch already", async () => {
    const { world, escrow, client } = await freshKeyedWorld();
    const job = await settledJob(world);
    const request = await disputeRequestOf(world, job);
    const [message, byWorker] = await signedCompletion(world, job);
    const byKey = await signDisputeRequest(escrow, DISPUTE_KEY, request);
    const code = escrow.interface;
    const items = [
      code.encodeFunctionData("setDisputeKey", [zeroAddress, 0]),
      code.encodeFunctionData("disputeByKey", [OTHER_HASH, message, byWorker, BOND, request.expiresAt, byKey]),
    ];
    await expect(escrow.connect(client).execute(items)).to.emit(escrow, "BatchItemFailed");
    expect((await escrow.jobOf(job.id)).status).to.equal(4);
  });

  it("makes what the same key signed before void, when it is named again", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const request = await disputeRequestOf(world, job);
    const signature = await signDisputeRequest(world.escrow, DISPUTE_KEY, request);
    await nameDisputeKey(world);
    await expectNotSigned(job, sendDisputeByKey(world, job, { ...request, signature }));
    await sendDisputeByKey(world, job);
  });

  it("with another key leaves nothing to the old one", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const key = signingKey("another dispute key");
    await nameDisputeKey(world, key.address);
    const refused = sendDisputeByKey(world, job);
    await expectRevert(refused, "Dispute_NotSigned", job.id, key.address, DISPUTE_KEY.address);
    await sendDisputeByKey(world, job, { key });
  });
});

describe("disputeByKey", () => {
  for (const [from, enter, status] of [
    ["settled", settledJob, 4],
    ["proven", provenJob, 3],
  ] as const) {
    it(`disputes a ${from} job as the wallet would, although a stranger sends it`, async () => {
      const { world, escrow, client, worker } = await freshKeyedWorld();
      const [mine, byKey] = [await enter(world), await enter(world)];
      await sendDispute(world, mine, { by: client });
      const { free, escrowed } = await escrow.accountOf(client.address);
      const sent = sendDisputeByKey(world, byKey);
      const openedAt = async () => Number((await escrow.disputeOf(byKey.id)).openedAt);
      await expect(sent).to.emit(escrow, "DisputeSigned").withArgs(byKey.id, DISPUTE_KEY.address);
      const [time, after] = [await openedAt(), [free - BigInt(BOND), escrowed + BigInt(BOND)]];
      await expect(sent)
        .to.emit(escrow, "JobDisputed")
        .withArgs(
          byKey.id,
          client.address,
          worker.key.address,
          OTHER_HASH,
          PROOF_HASH,
          false,
          BOND,
          BOND,
          1,
          time,
          time + 86_400,
          ...after,
        );
      const [one, two] = [await escrow.disputeOf(mine.id), await escrow.disputeOf(byKey.id)];
      expect([two.bond, two.workerHash, two.byOperator, two.fromProven]).to.deep.equal([
        one.bond,
        one.workerHash,
        one.byOperator,
        one.fromProven,
      ]);
      expect([one.byKey, two.byKey]).to.deep.equal([false, true]);
      expect(await openOf(world)).to.equal(1);
      await sendRuling(world, byKey, Ruling.Rejected);
      expect((await escrow.jobOf(byKey.id)).status).to.equal(status);
      expect((await escrow.accountOf(client.address)).escrowed).to.equal(escrowed);
      expect(await openOf(world)).to.equal(0);
      await books(world);
    });
  }

  it("joins the operator's dispute with the same signature, without a bond", async () => {
    const { world, escrow, client } = await freshKeyedWorld();
    const job = await settledJob(world);
    const request = await disputeRequestOf(world, job, { maxBond: 0 });
    const signature = await signDisputeRequest(escrow, DISPUTE_KEY, request);
    // Until the operator has disputed, the request has no bond to give.
    const early = sendDisputeByKey(world, job, { ...request, signature });
    await expectRevert(early, "Dispute_BondAboveLimit", job.id, BOND, 0);
    await sendDispute(world, job, { receivedHash: NO_SIGNATURE.r });
    const before = await escrow.accountOf(client.address);
    const sent = sendDisputeByKey(world, job, { ...request, signature });
    await expect(sent).to.emit(escrow, "DisputeJoined").withArgs(job.id, client.address, OTHER_HASH);
    await expect(sent).to.emit(escrow, "DisputeSigned").withArgs(job.id, DISPUTE_KEY.address);
    expect(await escrow.accountOf(client.address)).to.deep.equal(before);
    expect([await openOf(world), (await escrow.disputeOf(job.id)).byKey]).to.deep.equal([0, false]);
    await expectRevert(sendDisputeByKey(world, job), "Dispute_AlreadyJoined", job.id);
    await expectRevert(sendJoin(world, job), "Dispute_AlreadyJoined", job.id);
  });

  it("joins with the hash that the worker signed, and opens nothing with it", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const conceding = { receivedHash: PROOF_HASH };
    await expectRevert(sendDisputeByKey(world, job, conceding), "Dispute_SameHash", job.id);
    await sendDispute(world, job);
    await sendDisputeByKey(world, job, conceding);
    expect((await world.escrow.disputeOf(job.id)).conceded).to.equal(true);
  });

  it("joins before ruleFrom, that second excluded", async () => {
    for (const left of [1, 0]) {
      const world = await freshKeyedWorld();
      const job = await disputedJob(world);
      await nextBlockAt(job.ruleFrom - left);
      const sent = sendDisputeByKey(world, job, { expiresAt: job.ruleFrom + 60 });
      if (left > 0) await sent;
      else await expectRevert(sent, "Job_TooLate", job.id, job.ruleFrom, job.ruleFrom);
    }
  });

  for (const left of [1, 0]) {
    it(`is mined before the job's own deadline: ${left} s before it`, async () => {
      const world = await freshKeyedWorld();
      const job = await settledJob(world);
      const due = job.settledAt + 90;
      await nextBlockAt(due - left);
      const sent = sendDisputeByKey(world, job, { expiresAt: due + 60 });
      if (left > 0) await sent;
      else await expectRevert(sent, "Job_TooLate", job.id, due, due);
    });
  }

  it("is mined before expiresAt, not at it", async () => {
    for (const left of [1, 0]) {
      const world = await freshKeyedWorld();
      const job = await settledJob(world);
      const expiresAt = (await now()) + 20;
      const request = await disputeRequestOf(world, job, { expiresAt });
      await nextBlockAt(expiresAt - left);
      const sent = sendDisputeByKey(world, job, request);
      if (left > 0) await sent;
      else await expectRevert(sent, "Job_TooLate", job.id, expiresAt, expiresAt);
    }
  });

  it("takes a request for 600 s ahead, and none for 601", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const time = (await now()) + 10;
    await nextBlockAt(time);
    const refused = sendDisputeByKey(world, job, { expiresAt: time + 601 });
    await expectRevert(refused, "Dispute_RequestTooLong", time + 601, time + 600);
    await nextBlockAt(time + 1);
    await sendDisputeByKey(world, job, { expiresAt: time + 601 });
  });

  const changes: [string, (request: DisputeRequest) => object][] = [
    ["received hash", () => ({ sent: { receivedHash: NO_SIGNATURE.r } })],
    ["bond, one higher", ({ maxBond }) => ({ sent: { maxBond: maxBond + 1 } })],
    ["bond, one lower", ({ maxBond }) => ({ sent: { maxBond: maxBond - 1 } })],
    ["expiry, a second later", ({ expiresAt }) => ({ sent: { expiresAt: expiresAt + 1 } })],
    ["expiry, a second sooner", ({ expiresAt }) => ({ sent: { expiresAt: expiresAt - 1 } })],
    ["answer of the worker", () => ({ completion: { proofHash: OTHER_HASH } })],
    ["sequence of the key", ({ keySequence }) => ({ keySequence: keySequence + 1 })],
  ];
  for (const [field, change] of changes) {
    it(`is refused with another ${field} than was signed`, async () => {
      const world = await freshKeyedWorld();
      const job = await settledJob(world);
      const request = await disputeRequestOf(world, job);
      await expectNotSigned(job, sendDisputeByKey(world, job, { ...request, ...change(request) }));
      await sendDisputeByKey(world, job, request);
    });
  }

  it("disputes no other job and no other wallet's, with or without the same key", async () => {
    const { world, escrow, stranger } = await freshKeyedWorld();
    await buyCredits(world, stranger, 1_000);
    const foreign = await lockJob(world, { wallet: stranger.address });
    await sendComplete(world, foreign, { wallet: stranger.address });
    const [job, other] = [await settledJob(world), await settledJob(world)];
    const request = await disputeRequestOf(world, job);
    const signature = await signDisputeRequest(escrow, DISPUTE_KEY, request);
    await expectNotSigned(other, sendDisputeByKey(world, other, { ...request, signature }));
    const refused = sendDisputeByKey(world, foreign, { keySequence: 0 });
    await expectRevert(refused, "Dispute_NotSigned", foreign.id, zeroAddress, DISPUTE_KEY.address);
    // A wallet that names the client's key is disputed for by what that key signs for its own naming alone.
    await escrow.connect(stranger).setDisputeKey(DISPUTE_KEY.address, 1);
    await expectNotSigned(foreign, sendDisputeByKey(world, foreign, { ...request, signature }));
    const { sequence } = await escrow.disputeKeyOf(stranger.address);
    await sendDisputeByKey(world, foreign, { keySequence: Number(sequence) });
    expect((await escrow.accountOf(stranger.address)).escrowed).to.equal(BigInt(BOND));
    expect(await openOf(world)).to.equal(0);
  });

  it("is refused for a job that does not exist", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const none = { ...job, id: `0x${"0".repeat(31)}1` } as const;
    const refused = sendDisputeByKey(world, none, { keySequence: 0 });
    await expectRevert(refused, "Dispute_NotSigned", none.id, zeroAddress, DISPUTE_KEY.address);
  });

  it("needs the key and a well-formed signature, of this contract and this chain", async () => {
    const [second, world] = [await freshWorldWithoutReserve(), await freshKeyedWorld()];
    const { escrow, worker } = world;
    const job = await settledJob(world);
    const request = await disputeRequestOf(world, job);
    const [typed, types] = [{ primaryType: "DisputeRequest", message: request } as const, disputeRequestTypes];
    for (const signature of [
      await signDisputeRequest(escrow, signingKey("not the client's"), request),
      await signDisputeRequest(escrow, worker.key, request),
      await signDisputeRequest(second.escrow, DISPUTE_KEY, request),
      compactSignature(
        await DISPUTE_KEY.signTypedData({
          ...typed,
          types,
          domain: escrowDomain(CHAIN_ID + 1, getAddress(await escrow.getAddress())),
        }),
      ),
    ]) {
      await expectNotSigned(job, sendDisputeByKey(world, job, { ...request, signature }));
    }
    await expectRevert(sendDisputeByKey(world, job, { signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
  });

  it("still needs the worker's own signature of what is disputed", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const refused = sendDisputeByKey(world, job, { completion: { completionTokens: 1 }, byWorker: NO_SIGNATURE });
    await expectRevert(refused, "ECDSAInvalidSignature");
    const second = await provenJob(world);
    const other = sendDisputeByKey(world, second, { completion: { completionTokens: 1 } });
    await expectRevert(other, "Settlement_OtherCompletion", second.id);
  });

  it("is used once: a relayer that repeats it, or comes first, changes nothing", async () => {
    const { world, escrow } = await freshKeyedWorld();
    const job = await settledJob(world);
    const request = await disputeRequestOf(world, job, { expiresAt: (await now()) + 300 });
    await sendDisputeByKey(world, job, request);
    await expectRevert(sendDisputeByKey(world, job, request), "Dispute_AlreadyJoined", job.id);
    await sendRuling(world, job, Ruling.Rejected);
    await expectRevert(sendDisputeByKey(world, job, request), "Dispute_AlreadyOpened", job.id);
    const refunded = await settledJob(world);
    await sendDisputeByKey(world, refunded);
    await sendRuling(world, refunded, Ruling.WorkerAtFault);
    await expectRevert(sendDisputeByKey(world, refunded), "Job_WrongState", refunded.id, 6);
    expect((await escrow.accountOf(world.client.address)).escrowed).to.equal(0n);
  });

  it("disputes once more after an equivocation, without a bond, and counts", async () => {
    const { world, escrow } = await freshKeyedWorld();
    const job = await settledJob(world);
    await sendEquivocation(world, job);
    await sendDisputeByKey(world, job, { maxBond: 0 });
    expect([(await escrow.disputeOf(job.id)).bond, await openOf(world)]).to.deep.equal([0n, 1]);
    await sendRuling(world, job, Ruling.Rejected);
    expect(await openOf(world)).to.equal(0);
  });
});

describe("The bond of a dispute by key", () => {
  for (const [left, taken] of [
    [BOND, true],
    [BOND - 1, false],
    [0, false],
  ] as const) {
    it(`is ${taken ? "" : "not "}paid by ${left} free credits, and never by stablecoin`, async () => {
      const { world, escrow, client, owner, token } = await freshKeyedWorld();
      const job = await settledJob(world);
      const { free } = await escrow.accountOf(client.address);
      await escrow.connect(client).withdraw(free - BigInt(left), owner.address);
      await provide(world, client, 10_000_000n, 10_000_000n);
      const sent = sendDisputeByKey(world, job);
      if (taken) await expectTokens(sent, token, client, 0);
      else await expectRevert(sent, "Ledger_InsufficientCredits", client.address, left, BOND);
      expect(await openOf(world)).to.equal(taken ? 1 : 0);
      expect(await token.balanceOf(client)).to.equal(10_000_000n);
      await books(world);
    });
  }

  it("can rise until the operator has settled a proven job; the lock is enough", async () => {
    const world = await freshKeyedWorld();
    const completion = { completionTokens: 2_000, reasoningTokens: 2_000 };
    const job = await provenJob(world, completion);
    const proven = Number((await world.escrow.proofOf(job.id)).credits);
    // The operator sees the request, and settles first: content and reasoning cost more than the content alone.
    await sendComplete(world, job, { ...completion, countedTokens: 4_000 });
    const refused = sendDisputeByKey(world, job, { completion, maxBond: proven });
    await expectRevert(refused, "Dispute_BondAboveLimit", job.id, LOCK_CREDITS, proven);
    await sendDisputeByKey(world, job, { completion, maxBond: LOCK_CREDITS });
    expect((await world.escrow.disputeOf(job.id)).bond).to.equal(LOCK_CREDITS);
  });

  it("is at most what was signed, and the charge at most", async () => {
    const world = await freshKeyedWorld();
    const job = await settledJob(world);
    const refused = sendDisputeByKey(world, job, { maxBond: BOND - 1 });
    await expectRevert(refused, "Dispute_BondAboveLimit", job.id, BOND, BOND - 1);
    await sendDisputeByKey(world, job, { maxBond: BOND + 1 });
    expect((await world.escrow.accountOf(world.client.address)).escrowed).to.equal(BigInt(BOND));
  });
});

describe("Disputes open by key", () => {
  it(`are at most ${MOST_OPEN}, until one ends; the wallet's and its operator's are apart`, async () => {
    const { world, escrow, client } = await freshKeyedWorld();
    const [first, second] = [await settledJob(world), await provenJob(world)];
    for (const job of [first, second]) await sendDisputeByKey(world, job);
    const third = await settledJob(world);
    await expectRevert(sendDisputeByKey(world, third), "Dispute_TooMany", client.address);
    await sendDispute(world, await settledJob(world), { by: client });
    await disputedJob(world);
    expect([await openOf(world), (await escrow.accountOf(client.address)).openDisputes]).to.deep.equal([2, 1n]);
    await sendRuling(world, first, Ruling.GatewayAtFault);
    await sendDisputeByKey(world, third);
    expect(await openOf(world)).to.equal(2);
  });

  it("do not bound how many it joins: nine disputes of proven jobs, with none allowed", async () => {
    const { world, escrow, client } = await freshWorld();
    await nameDisputeKey(world, DISPUTE_KEY.address, 0);
    for (let i = 0; i < 9; i++) {
      const job = await provenJob(world);
      await sendDispute(world, job);
      await sendDisputeByKey(world, job);
    }
    expect([await openOf(world), (await escrow.accountOf(client.address)).openDisputes]).to.deep.equal([0, 0n]);
  });

  it("can always join, also with none allowed", async () => {
    const world = await freshWorld();
    await nameDisputeKey(world, DISPUTE_KEY.address, 0);
    const job = await settledJob(world);
    await expectRevert(sendDisputeByKey(world, job), "Dispute_TooMany", world.client.address);
    await sendDispute(world, job);
    await sendDisputeByKey(world, job);
  });

  it("stay counted when another key is named or none, and end as all others do", async () => {
    const { world, escrow, client } = await freshKeyedWorld();
    const jobs = [await settledJob(world), await provenJob(world)];
    for (const job of jobs) await sendDisputeByKey(world, job);
    const key = signingKey("another dispute key");
    await nameDisputeKey(world, key.address, 1);
    const next = await settledJob(world);
    await expectRevert(sendDisputeByKey(world, next, { key }), "Dispute_TooMany", client.address);
    await nameDisputeKey(world, zeroAddress, 0);
    expect(await keyOf(world)).to.deep.equal([zeroAddress, 4, 0, 2]);
    for (const job of jobs) {
      const { openedAt, ruleFrom } = await escrow.disputeOf(job.id);
      await sendExpire(world, { ...job, openedAt: Number(openedAt), ruleFrom: Number(ruleFrom) });
    }
    expect(await openOf(world)).to.equal(0);
    expect((await escrow.accountOf(client.address)).escrowed).to.equal(0n);
    await books(world);
  });

  it("end with an equivocation of a proven job's worker, too", async () => {
    const world = await freshKeyedWorld();
    const job = await provenJob(world);
    await sendDisputeByKey(world, job);
    await sendEquivocation(world, job);
    expect([await openOf(world), (await world.escrow.jobOf(job.id)).status]).to.deep.equal([0, 6n]);
    await books(world);
  });
});

it("limit, freeze and choice do not stop a dispute key; its bond is no spending", async () => {
  const { world, escrow, client } = await freshKeyedWorld();
  const job = await settledJob(world);
  await escrow.connect(client).setLimits(true, 0, true);
  await escrow.connect(client).chooseOperator(0);
  await sendDisputeByKey(world, job);
  expect((await escrow.accountOf(client.address)).spentToday).to.equal(60);
});
