/** Wallets with an authorization key: each lock needs that key's signature, so that operator and worker together take what was signed. */
import { expect } from "chai";
import { getAddress, type Hex } from "viem";
import type { Authorization } from "../../../protocol/messages.ts";
import { jobId, signingKey } from "../support/actors.ts";
import {
  AUTHORIZATION_KEY,
  authorizationOf,
  lockAuthorizedJob,
  REQUEST_HASH,
  requireAuthorization,
  sendLockAuthorized,
} from "../support/authorizations.ts";
import { answerAtOnce, executeBatch } from "../support/batch.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import { accountWith, expectRevert, jobWith } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { lockJob, sendComplete, sendLock, storedJob } from "../support/jobs.ts";
import { NO_SIGNATURE, signAuthorization, signCompletion } from "../support/sign.ts";
import {
  buyCredits,
  CLIENT_CREDITS,
  MODEL,
  OPERATOR,
  OTHER_MODEL,
  OTHER_OPERATOR,
  type World,
} from "../support/world.ts";

/** A world whose client signs each job. */
async function freshAuthorizedWorld() {
  const world = await freshWorld();
  await requireAuthorization(world);
  return world;
}

/** The lock is refused because the wallet's key did not sign it. */
async function expectNotAuthorized(world: World, sending: Promise<unknown>) {
  const another = (recovered: string) => recovered !== AUTHORIZATION_KEY.address;
  await expectRevert(sending, "Job_NotAuthorized", world.client.address, AUTHORIZATION_KEY.address, another);
}

/** A UUIDv7 of this time, with other bits where named: the version's digit, and the one with the variant's two bits. */
const idAt = (milliseconds: number, { version = "7", variant = "8" } = {}): Hex =>
  `0x${milliseconds.toString(16).padStart(12, "0")}${version}000${variant}${"0".repeat(14)}1`;

describe("setAuthorizationKey", () => {
  it("is the wallet's own call, tells the key and counts", async () => {
    const { escrow, client, stranger, gateway, owner } = await freshWorld();
    const sent = escrow.connect(client).setAuthorizationKey(AUTHORIZATION_KEY.address);
    await expect(sent).to.emit(escrow, "AuthorizationKeySet").withArgs(1, client.address, AUTHORIZATION_KEY.address, 2);
    const account = await escrow.accountOf(client.address);
    expect([account.flags, account.sequence, account.free]).to.deep.equal([4n, 2n, BigInt(CLIENT_CREDITS)]);
    expect(await escrow.authorizationKeyOf(client.address)).to.equal(AUTHORIZATION_KEY.address);
    for (const caller of [stranger, gateway, owner]) {
      const refused = escrow.connect(caller).setAuthorizationKey(AUTHORIZATION_KEY.address);
      await expectRevert(refused, "Ledger_UnknownAccount", caller.address);
    }
  });

  it("holds from the next lock on: a plain one is refused", async () => {
    const world = await freshWorld();
    await sendLock(world);
    await requireAuthorization(world);
    await expectRevert(sendLock(world), "Job_AuthorizationRequired", world.client.address);
    await sendLockAuthorized(world);
  });

  it("with zero ends that: plain locks work again, and no authorization does", async () => {
    const { world, escrow, client } = await freshAuthorizedWorld();
    await expect(escrow.connect(client).setAuthorizationKey(`0x${"0".repeat(40)}`))
      .to.emit(escrow, "AuthorizationKeySet")
      .withArgs(1, client.address, `0x${"0".repeat(40)}`, 3);
    expect((await escrow.accountOf(client.address)).flags).to.equal(0);
    const refused = sendLockAuthorized(world);
    await expectRevert(refused, "Job_NotAuthorized", client.address, `0x${"0".repeat(40)}`, AUTHORIZATION_KEY.address);
    await sendLock(world);
  });

  it("with another key leaves nothing to what the old one signed", async () => {
    const world = await freshAuthorizedWorld();
    const key = signingKey("a new key");
    const authorization = await authorizationOf(world);
    const byOld = await signAuthorization(world.escrow, AUTHORIZATION_KEY, authorization);
    await requireAuthorization(world, key);
    const refused = sendLockAuthorized(world, { ...authorization, signature: byOld });
    await expectRevert(refused, "Job_NotAuthorized", world.client.address, key.address, AUTHORIZATION_KEY.address);
    await sendLockAuthorized(world, { key });
  });

  it("keeps limit and freeze switch, and setLimits keeps the key", async () => {
    const { world, escrow, client } = await freshWorld();
    const mine = escrow.connect(client);
    const flags = async () => Number((await escrow.accountOf(client.address)).flags);
    await mine.setLimits(true, 500, true);
    await requireAuthorization(world);
    expect(await flags()).to.equal(7);
    await mine.setLimits(false, 0, false);
    expect(await flags()).to.equal(4);
    await mine.setLimits(true, 500, true);
    await mine.setAuthorizationKey(`0x${"0".repeat(40)}`);
    expect(await flags()).to.equal(3);
    expect((await escrow.accountOf(client.address)).dailyLimit).to.equal(500);
  });
});

describe("lockAuthorized", () => {
  it("locks like `lock`, and tells key and request beside it", async () => {
    const { world, escrow, client } = await freshAuthorizedWorld();
    const id = jobId(await now());
    const locking = sendLockAuthorized(world, { jobId: id });
    await expect(locking)
      .to.emit(escrow, "JobLocked")
      .withArgs(
        id,
        client.address,
        3,
        80,
        jobWith({ model: MODEL, operator: OPERATOR, creditsPerRequest: 40, creditsPer1kTokens: 20 }),
        accountWith({ free: CLIENT_CREDITS - 80, escrowed: 80, flags: 4 }),
      );
    await expect(locking).to.emit(escrow, "JobAuthorized").withArgs(id, AUTHORIZATION_KEY.address, REQUEST_HASH);
    const lockedAt = await now();
    await escrow.connect(client).setAuthorizationKey(`0x${"0".repeat(40)}`);
    const plain = await lockJob(world);
    expect(await storedJob(world, id)).to.deep.equal({
      ...(await storedJob(world, plain.id)),
      lockedAt: BigInt(lockedAt),
    });
  });

  const changes: [string, (time: number) => Partial<Authorization>][] = [
    ["job id", (time) => ({ jobId: jobId(time) })],
    ["operator", () => ({ operator: OTHER_OPERATOR })],
    ["model", () => ({ model: OTHER_MODEL })],
    ["maximum of tokens", () => ({ maxTokens: 3_999 })],
    ["maximum of credits", () => ({ maxCredits: 81 })],
    ["request", () => ({ requestHash: `0x${"11".repeat(32)}` })],
  ];
  for (const [field, change] of changes) {
    it(`is refused with another ${field} than was signed`, async () => {
      const world = await freshAuthorizedWorld();
      const authorization = await authorizationOf(world);
      const signature = await signAuthorization(world.escrow, AUTHORIZATION_KEY, authorization);
      const changed = { ...authorization, ...change(await now()) };
      await expectNotAuthorized(world, sendLockAuthorized(world, { ...changed, signature }));
      await sendLockAuthorized(world, { ...authorization, signature });
    });
  }

  it("is refused with another expiry than was signed, sooner or later", async () => {
    const world = await freshAuthorizedWorld();
    const authorization = await authorizationOf(world);
    const signature = await signAuthorization(world.escrow, AUTHORIZATION_KEY, authorization);
    for (const expiresAt of [authorization.expiresAt - 1, authorization.expiresAt + 1]) {
      await expectNotAuthorized(world, sendLockAuthorized(world, { ...authorization, expiresAt, signature }));
    }
    await sendLockAuthorized(world, { ...authorization, signature });
  });

  it("takes nothing of another wallet, with or without the same key", async () => {
    const { world, escrow, stranger } = await freshAuthorizedWorld();
    await buyCredits(world, stranger, 1_000);
    const wallet = getAddress(stranger.address);
    // Without a key, nothing that was signed counts; a wallet with the key of the client's has signed for itself alone.
    const refused = sendLockAuthorized(world, { wallet });
    await expectRevert(refused, "Job_NotAuthorized", wallet, `0x${"0".repeat(40)}`, AUTHORIZATION_KEY.address);
    await escrow.connect(stranger).setAuthorizationKey(AUTHORIZATION_KEY.address);
    const authorization = await authorizationOf(world);
    const signature = await signAuthorization(escrow, AUTHORIZATION_KEY, authorization);
    await expectRevert(sendLockAuthorized(world, { ...authorization, wallet, signature }), "Job_NotAuthorized");
    expect((await escrow.accountOf(wallet)).free).to.equal(1_000);
  });

  it("is refused to a wallet without an account", async () => {
    const world = await freshWorld();
    const wallet = getAddress(world.stranger.address);
    const refused = sendLockAuthorized(world, { wallet });
    await expectRevert(refused, "Job_NotAuthorized", wallet, `0x${"0".repeat(40)}`, AUTHORIZATION_KEY.address);
  });

  it("needs the wallet's key, this escrow and a well-formed signature", async () => {
    const [second, world] = [await freshWorldWithoutReserve(), await freshAuthorizedWorld()];
    const { worker } = world;
    const key = signingKey("not the client's");
    const refused = sendLockAuthorized(world, { key });
    await expectRevert(refused, "Job_NotAuthorized", world.client.address, AUTHORIZATION_KEY.address, key.address);
    await expectNotAuthorized(world, sendLockAuthorized(world, { key: worker.key }));
    await expectRevert(sendLockAuthorized(world, { signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
    const authorization = await authorizationOf(world);
    const elsewhere = await signAuthorization(second.escrow, AUTHORIZATION_KEY, authorization);
    await expectNotAuthorized(world, sendLockAuthorized(world, { ...authorization, signature: elsewhere }));
  });

  it("needs the operator that was signed for and chosen: one of the two is not enough", async () => {
    const { world, escrow, client, gateway, otherGateway } = await freshAuthorizedWorld();
    const both = { client: client.address, chosen: OPERATOR };
    // Signed for the other operator, sent by the chosen one.
    const refused = sendLockAuthorized(world, { operator: OTHER_OPERATOR, gateway });
    await expectRevert(refused, "Job_OperatorNotChosen", both.client, OTHER_OPERATOR, OPERATOR);
    // Signed for the other operator and sent by it, but not chosen.
    await expect(sendLockAuthorized(world, { operator: OTHER_OPERATOR, gateway: otherGateway }))
      .to.be.revertedWithCustomError(escrow, "Job_OperatorNotChosen")
      .withArgs(both.client, both.chosen, OTHER_OPERATOR);
    // Chosen since, but signed for the first one.
    const authorization = await authorizationOf(world);
    await escrow.connect(client).chooseOperator(OTHER_OPERATOR);
    await expect(sendLockAuthorized(world, { ...authorization, gateway: otherGateway }))
      .to.be.revertedWithCustomError(escrow, "Job_OperatorNotChosen")
      .withArgs(both.client, OPERATOR, OTHER_OPERATOR);
    await expect(sendLockAuthorized(world, { ...authorization, gateway }))
      .to.be.revertedWithCustomError(escrow, "Job_OperatorNotChosen")
      .withArgs(both.client, OTHER_OPERATOR, OPERATOR);
    await sendLockAuthorized(world, { operator: OTHER_OPERATOR, gateway: otherGateway });
  });

  it("is mined before expiresAt, not at it", async () => {
    const world = await freshAuthorizedWorld();
    const expiresAt = (await now()) + 30;
    await nextBlockAt(expiresAt - 1);
    await sendLockAuthorized(world, { expiresAt });
    await nextBlockAt(expiresAt);
    await expectRevert(sendLockAuthorized(world, { expiresAt }), "Job_LockExpired", expiresAt, expiresAt);
  });

  it("takes an authorization for 600 s ahead, and none for 601: nobody hoards them", async () => {
    const world = await freshAuthorizedWorld();
    const time = (await now()) + 10;
    await nextBlockAt(time);
    const refused = sendLockAuthorized(world, { expiresAt: time + 601 });
    await expectRevert(refused, "Job_AuthorizationTooLong", time + 601, time + 600);
    await nextBlockAt(time + 1);
    await sendLockAuthorized(world, { expiresAt: time + 601 });
  });

  for (const [name, milliseconds, accepted] of [
    ["300 s old", -300_000, true],
    ["300 s and a millisecond old", -300_001, false],
    ["300.999 s ahead", 300_999, true],
    ["301 s ahead", 301_000, false],
  ] as const) {
    it(`${accepted ? "takes" : "refuses"} an id that is ${name}`, async () => {
      const world = await freshAuthorizedWorld();
      const time = (await now()) + 10;
      const id = idAt(time * 1_000 + milliseconds);
      await nextBlockAt(time);
      const locking = sendLockAuthorized(world, { jobId: id });
      if (accepted) await locking;
      else await expectRevert(locking, "Job_InvalidId", id);
      expect((await world.escrow.jobOf(id)).status).to.equal(accepted ? 1 : 0);
    });
  }

  it("refuses an id that is no UUIDv7: another version, another variant, none", async () => {
    const world = await freshAuthorizedWorld();
    const milliseconds = (await now()) * 1_000;
    const others = ["0", "1", "4", "6", "8", "f"].map((version) => idAt(milliseconds, { version }));
    const variants = ["0", "4", "7", "c", "f"].map((variant) => idAt(milliseconds, { variant }));
    for (const id of [...others, ...variants, `0x${"0".repeat(32)}` as const])
      await expectRevert(sendLockAuthorized(world, { jobId: id }), "Job_InvalidId", id);
    for (const variant of ["8", "9", "a", "b"]) {
      await sendLockAuthorized(world, { jobId: idAt(milliseconds, { variant }) });
    }
  });

  it("is used once: the id is taken, however the job ended", async () => {
    const { world, escrow, gateway } = await freshAuthorizedWorld();
    const authorization = await authorizationOf(world);
    const again = () =>
      expect(sendLockAuthorized(world, authorization))
        .to.be.revertedWithCustomError(escrow, "Job_AlreadyExists")
        .withArgs(authorization.jobId);
    await sendLockAuthorized(world, authorization);
    await again();
    await escrow.connect(gateway).fail(authorization.jobId, 0);
    await again();
    const settled = await lockAuthorizedJob(world);
    await sendComplete(world, settled);
    await expectRevert(sendLockAuthorized(world, { jobId: settled.id }), "Job_AlreadyExists");
  });

  it("locks at most what was signed, when the price has risen since", async () => {
    const { world, escrow } = await freshAuthorizedWorld();
    await expectRevert(sendLockAuthorized(world, { maxCredits: 79 }), "Job_PriceExceedsLimit", 80, 79);
    const job = await lockAuthorizedJob(world, { maxCredits: 81 });
    expect((await escrow.jobOf(job.id)).credits).to.equal(80);
  });

  it("keeps every rule of locks: limits, freeze, balance, pause, stop, model", async () => {
    const { world, escrow, client, guardian, catalog } = await freshAuthorizedWorld();
    const mine = escrow.connect(client);
    await mine.setLimits(true, 79, false);
    await expectRevert(sendLockAuthorized(world), "Limits_DailyLimitReached", client.address, 0, 79, 80);
    await mine.setLimits(false, 0, true);
    await expectRevert(sendLockAuthorized(world), "Limits_Frozen");
    await mine.setLimits(false, 0, false);
    const refused = sendLockAuthorized(world, { maxTokens: 250_001, maxCredits: 2 ** 32 - 1 });
    await expectRevert(refused, "Job_TooLarge", 5_001, 5_000);
    await mine.withdraw(CLIENT_CREDITS - 79, client.address);
    await expectRevert(sendLockAuthorized(world), "Ledger_InsufficientCredits", client.address, 79, 80);
    await expectRevert(sendLockAuthorized(world, { model: 200 }), "Job_ModelNotActive", 200);
    await escrow.connect(guardian).setPaused(true);
    await expectRevert(sendLockAuthorized(world, { maxTokens: 1 }), "Ledger_Paused");
    await escrow.connect(guardian).setPaused(false);
    await sendLockAuthorized(world, { maxTokens: 1 });
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    await expectRevert(sendLockAuthorized(world, { maxTokens: 1 }), "Job_MayNotLock");
    expect(await catalog.modelCount()).to.equal(8);
  });
});

it("Operator and worker together take at most the credits that were signed for", async () => {
  const { world, escrow, client, gateway, worker } = await freshAuthorizedWorld();
  const code = escrow.interface;
  const plain = await answerAtOnce(world, 1);
  const time = (await now()) + 5;
  const authorization = await authorizationOf(world, { maxCredits: 80, expiresAt: time + 60 });
  const byKey = await signAuthorization(escrow, AUTHORIZATION_KEY, authorization);
  const lock = code.encodeFunctionData("lockAuthorized", [authorization, byKey]);
  const completion = {
    jobId: authorization.jobId,
    proofHash: REQUEST_HASH,
    promptTokens: 0,
    completionTokens: 2 ** 32 - 1,
    reasoningTokens: 2 ** 32 - 1,
    textBytes: 2 ** 32 - 1,
    completedAt: time,
  };
  const byWorker = await signCompletion(escrow, worker.key, completion);
  const complete = code.encodeFunctionData("complete", [completion, 2 ** 32 - 1, byWorker, client.address]);
  const { failures } = await executeBatch(world, gateway, [lock, complete, lock, complete, ...plain]);
  // The second lock, the plain one and its settlement; the second settlement is a repetition without effect.
  expect(failures.map(({ index, reason }) => [index, code.parseError(reason)?.name])).to.deep.equal([
    [2, "Job_AlreadyExists"],
    [4, "Job_AuthorizationRequired"],
    [5, "Job_WrongState"],
  ]);
  const { free, escrowed } = await escrow.accountOf(client.address);
  expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS - 80), 0n]);
});
