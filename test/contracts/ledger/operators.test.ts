/** Who may lock and end jobs: operators that governance admits, and the signers that their admins name. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";
import { executeBatch } from "../support/batch.ts";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import { sendDispute, settledJob } from "../support/disputes.ts";
import { expectRevert, fieldsOf } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import { inOneBlock } from "../support/front-running.ts";
import { acknowledgement, lockJob, sendAcknowledge, sendComplete, sendLock } from "../support/jobs.ts";
import { NO_SIGNATURE } from "../support/sign.ts";
import { addSigners, consent, OPERATOR, OTHER_OPERATOR, type World } from "../support/world.ts";

const [first, second, third] = [0, 1, 2] as const;
const other = (world: Pick<World, "others">, index: 0 | 1 | 2): HardhatEthersSigner =>
  world.others[index] as HardhatEthersSigner;

/** The operator's admin removes signers. */
const remove = ({ escrow, operatorAdmin }: Pick<World, "escrow" | "operatorAdmin">, ...keys: HardhatEthersSigner[]) =>
  escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [], [], [...keys]);

/** Operator and second of the removal of a key. */
const signer = async ({ escrow }: Pick<World, "escrow">, key: { address: string }) =>
  (await escrow.signerOf(key.address)).map(Number);

describe("admitOperator", () => {
  it("is governance's: ids in order, for ever the admin's own", async () => {
    const { escrow, owner, operatorAdmin, otherAdmin, stranger } = await freshBare();
    expect(await escrow.operatorCount()).to.equal(2);
    const admins = [(await escrow.operatorOf(1)).admin, (await escrow.operatorOf(2)).admin];
    expect(admins).to.deep.equal([operatorAdmin.address, otherAdmin.address]);
    const sent = escrow.connect(owner).admitOperator(stranger.address);
    await expect(sent).to.emit(escrow, "OperatorAdmitted").withArgs(3, stranger.address, 7);
    expect(fieldsOf(await escrow.operatorOf(3))).to.deep.equal({
      admin: stranger.address,
      reserve: 0n,
      held: 0n,
      leaving: 0n,
      leavesAt: 0n,
      sequence: 0n,
    });
  });

  it("needs an admin, who may run two operators", async () => {
    const { escrow, operatorAdmin } = await freshBare();
    await expectRevert(escrow.admitOperator(ethers.ZeroAddress), "Admin_InvalidAddress", ethers.ZeroAddress);
    await escrow.admitOperator(operatorAdmin.address);
    expect((await escrow.operatorOf(3)).admin).to.equal(operatorAdmin.address);
  });

  it("admits 160 operators and no more: each has its bit among the stopped ones", async () => {
    const { world, escrow, owner, guardian, stranger } = await freshBare();
    const admit = escrow.interface.encodeFunctionData("admitOperator", [stranger.address]);
    expect(await escrow.MOST_OPERATORS()).to.equal(160);
    const { failures } = await executeBatch(world as World, owner, Array<string>(158).fill(admit));
    expect(failures).to.deep.equal([]);
    expect(await escrow.operatorCount()).to.equal(160);
    await escrow.connect(guardian).stopOperator(160, true);
    expect(await escrow.stoppedOperators()).to.equal(1n << 159n);
    await expectRevert(escrow.admitOperator(stranger.address), "Operator_TooMany");
  });
});

describe("stopOperator", () => {
  it("lets guardian and governance stop an operator, and governance alone lift that", async () => {
    const { escrow, owner, guardian, stranger, operatorAdmin } = await freshBare();
    const sent = escrow.connect(guardian).stopOperator(OPERATOR, true);
    await expect(sent).to.emit(escrow, "OperatorStopped").withArgs(OPERATOR, 7, true);
    expect(await escrow.stoppedOperators()).to.equal(1n);
    await escrow.connect(guardian).stopOperator(OTHER_OPERATOR, true);
    expect(await escrow.stoppedOperators()).to.equal(3n);
    for (const caller of [guardian, operatorAdmin, stranger]) {
      const refused = escrow.connect(caller).stopOperator(OPERATOR, false);
      await expectRevert(refused, "OwnableUnauthorizedAccount", caller.address);
    }
    await expect(escrow.connect(owner).stopOperator(OPERATOR, false))
      .to.emit(escrow, "OperatorStopped")
      .withArgs(OPERATOR, 9, false);
    expect(await escrow.stoppedOperators()).to.equal(2n);
    await expect(escrow.connect(owner).stopOperator(OPERATOR, true))
      .to.emit(escrow, "OperatorStopped")
      .withArgs(OPERATOR, 10, true);
    // A second stop of the same one changes nothing.
    await escrow.connect(owner).stopOperator(OPERATOR, true);
    expect(await escrow.stoppedOperators()).to.equal(3n);
  });

  it("knows the operators there are", async () => {
    const { escrow, guardian, owner } = await freshBare();
    for (const operator of [0, OTHER_OPERATOR + 1]) {
      for (const [caller, stopped] of [
        [guardian, true],
        [owner, false],
      ] as const) {
        await expectRevert(escrow.connect(caller).stopOperator(operator, stopped), "Operator_Unknown", operator);
      }
    }
    await escrow.connect(guardian).stopOperator(OTHER_OPERATOR, true);
  });

  it("refuses the locks of all its signers and of no other operator", async () => {
    const { world, escrow, guardian, gateway, secondGateway, otherGateway, client } = await freshWorld();
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    for (const stopped of [gateway, secondGateway])
      await expectRevert(sendLock(world, { gateway: stopped }), "Job_MayNotLock", stopped.address);
    await escrow.connect(client).chooseOperator(OTHER_OPERATOR);
    await sendLock(world, { gateway: otherGateway });
    await escrow.connect(client).chooseOperator(OPERATOR);
    await escrow.stopOperator(OPERATOR, false);
    await sendLock(world);
  });
});

describe("setOperatorAdmin", () => {
  it("hands the operator over, by its admin and nobody else", async () => {
    const { world, escrow, operatorAdmin, otherAdmin, owner, guardian, gateway, stranger } = await freshBare();
    for (const caller of [owner, guardian, otherAdmin, gateway, stranger]) {
      const refused = escrow.connect(caller).setOperatorAdmin(OPERATOR, stranger.address);
      await expectRevert(refused, "Operator_NotAdmin", OPERATOR, caller.address);
    }
    const sent = escrow.connect(operatorAdmin).setOperatorAdmin(OPERATOR, stranger.address);
    await expect(sent).to.emit(escrow, "OperatorAdminSet").withArgs(OPERATOR, stranger.address, 3);
    await expectRevert(remove(world, gateway), "Operator_NotAdmin");
    await escrow.connect(stranger).rotateSigners(OPERATOR, [], [], [gateway.address]);
    // The signers of before stay until they are removed.
    expect(await signer(world, world.secondGateway)).to.deep.equal([OPERATOR, 0]);
  });

  it("needs an admin, and an operator that there is", async () => {
    const { escrow, operatorAdmin } = await freshBare();
    const refused = escrow.connect(operatorAdmin).setOperatorAdmin(OPERATOR, ethers.ZeroAddress);
    await expectRevert(refused, "Admin_InvalidAddress", ethers.ZeroAddress);
    for (const operator of [0, OTHER_OPERATOR + 1]) {
      const refused = escrow.connect(operatorAdmin).setOperatorAdmin(operator, operatorAdmin.address);
      await expectRevert(refused, "Operator_NotAdmin", operator, operatorAdmin.address);
    }
  });

  it("leaves a key's consent to the admin that it named", async () => {
    const { world, escrow, operatorAdmin, stranger } = await freshBare();
    const key = other(world, first);
    const consents = [await consent(world, key, OPERATOR, operatorAdmin.address)];
    await escrow.connect(operatorAdmin).setOperatorAdmin(OPERATOR, stranger.address);
    const refused = escrow.connect(stranger).rotateSigners(OPERATOR, [key.address], consents, []);
    await expectRevert(refused, "Operator_NoConsent");
    await addSigners(world, OPERATOR, stranger, [key]);
  });
});

describe("rotateSigners", () => {
  it("adds and removes several keys at once, with an event each", async () => {
    const { world, escrow, operatorAdmin, gateway, secondGateway } = await freshWorld();
    const added = [other(world, first), other(world, second), other(world, third)];
    const consents = await Promise.all(added.map((key) => consent(world, key, OPERATOR, operatorAdmin.address)));
    const removed = [gateway.address, secondGateway.address];
    const rotating = escrow.connect(operatorAdmin).rotateSigners(
      OPERATOR,
      added.map(({ address }) => address),
      consents,
      removed,
    );
    // Two signers and the reserve had the first three numbers.
    for (const [i, key] of removed.entries()) {
      await expect(rotating)
        .to.emit(escrow, "SignerRemoved")
        .withArgs(OPERATOR, key, 4 + i);
    }
    for (const [i, key] of added.entries()) {
      await expect(rotating)
        .to.emit(escrow, "SignerAdded")
        .withArgs(OPERATOR, key.address, 6 + i);
    }
    const time = await now();
    expect(await signer(world, gateway)).to.deep.equal([OPERATOR, time]);
    expect(await signer(world, other(world, third))).to.deep.equal([OPERATOR, 0]);
    expect((await escrow.operatorOf(OPERATOR)).sequence).to.equal(8);
    await sendLock(world, { gateway: other(world, second) });
  });

  it("is its operator's admin's call alone", async () => {
    const { escrow, owner, guardian, otherAdmin, gateway, stranger } = await freshBare();
    for (const caller of [owner, guardian, otherAdmin, gateway, stranger]) {
      const refused = escrow.connect(caller).rotateSigners(OPERATOR, [], [], [gateway.address]);
      await expectRevert(refused, "Operator_NotAdmin", OPERATOR, caller.address);
    }
    for (const operator of [0, OTHER_OPERATOR + 1]) {
      const refused = escrow.connect(stranger).rotateSigners(operator, [], [], []);
      await expectRevert(refused, "Operator_NotAdmin", operator, stranger.address);
    }
  });

  it("needs the consent of each added key to this operator under this admin", async () => {
    const [elsewhere, world] = [await freshWorld(), await freshBare()];
    const { escrow, operatorAdmin, otherAdmin } = world;
    const key = other(world, first);
    const wrong = [
      await consent(world, other(world, second), OPERATOR, operatorAdmin.address),
      await consent(world, key, OTHER_OPERATOR, operatorAdmin.address),
      await consent(world, key, OPERATOR, otherAdmin.address),
      // Of another deployment.
      await consent(elsewhere, key, OPERATOR, operatorAdmin.address),
    ];
    for (const byKey of wrong) {
      const refused = escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [key.address], [byKey], []);
      await expectRevert(refused, "Operator_NoConsent");
    }
    await expect(escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [key.address], [wrong[0] ?? NO_SIGNATURE], []))
      .to.be.revertedWithCustomError(escrow, "Operator_NoConsent")
      .withArgs(key.address, other(world, second).address);
    await expect(
      escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [key.address], [NO_SIGNATURE], []),
    ).to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignature");
    expect(await signer(world, key)).to.deep.equal([0, 0]);
  });

  it("needs as many consents as keys", async () => {
    const { world, escrow, operatorAdmin } = await freshBare();
    const key = other(world, first);
    const byKey = await consent(world, key, OPERATOR, operatorAdmin.address);
    for (const [added, consents] of [
      [[key.address], []],
      [[key.address], [byKey, byKey]],
      [[], [byKey]],
    ] as const) {
      const refused = escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [...added], [...consents], []);
      await expectRevert(refused, "Operator_ConsentsMissing", added.length, consents.length);
    }
  });

  it("adds all keys or none", async () => {
    const { world, operatorAdmin, gateway } = await freshBare();
    const keys = [other(world, first), gateway];
    await expectRevert(addSigners(world, OPERATOR, operatorAdmin, keys), "Operator_SignerTaken");
    expect(await signer(world, other(world, first))).to.deep.equal([0, 0]);
  });

  it("binds a key to one operator for ever", async () => {
    const { world, escrow, operatorAdmin, otherAdmin, gateway } = await freshBare();
    // In office: neither again for its own operator nor for another one.
    const refused = addSigners(world, OPERATOR, operatorAdmin, [gateway]);
    await expectRevert(refused, "Operator_SignerTaken", gateway.address, OPERATOR);
    await expect(addSigners(world, OTHER_OPERATOR, otherAdmin, [gateway]))
      .to.be.revertedWithCustomError(escrow, "Operator_SignerTaken")
      .withArgs(gateway.address, OPERATOR);
    await remove(world, gateway);
    await expect(addSigners(world, OTHER_OPERATOR, otherAdmin, [gateway]))
      .to.be.revertedWithCustomError(escrow, "Operator_SignerTaken")
      .withArgs(gateway.address, OPERATOR);
  });

  it("does not take a key twice in one call", async () => {
    const { world, operatorAdmin } = await freshBare();
    const key = other(world, first);
    const refused = addSigners(world, OPERATOR, operatorAdmin, [key, key]);
    await expectRevert(refused, "Operator_SignerTaken", key.address, OPERATOR);
  });

  it("removes signers in office of this operator only, each once", async () => {
    const { world, gateway, otherGateway, stranger } = await freshBare();
    for (const key of [otherGateway, stranger])
      await expectRevert(remove(world, key), "Operator_NotASigner", OPERATOR, key.address);
    await expectRevert(remove(world, gateway, gateway), "Operator_NotASigner", OPERATOR, gateway.address);
    await remove(world, gateway);
    await expectRevert(remove(world, gateway), "Operator_NotASigner", OPERATOR, gateway.address);
  });

  it("removes before it adds: the same key can be renewed in one call", async () => {
    const { world, escrow, operatorAdmin, gateway } = await freshBare();
    const consents = [await consent(world, gateway, OPERATOR, operatorAdmin.address)];
    await escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [gateway.address], consents, [gateway.address]);
    expect(await signer(world, gateway)).to.deep.equal([OPERATOR, 0]);
  });
});

describe("A removed signer", () => {
  it("can lock, complete, fail and dispute no more, and refunds as a stranger", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const [settled, job] = [await settledJob(world), await lockJob(world)];
    await remove(world, gateway);
    await expectRevert(sendLock(world), "Job_MayNotLock", gateway.address);
    await expectRevert(sendComplete(world, job), "Job_NotItsOperator", job.id, gateway.address);
    await expectRevert(escrow.connect(gateway).fail(job.id, 0), "Job_NotItsOperator", job.id, gateway.address);
    await expectRevert(sendDispute(world, settled), "Dispute_NotAParty", settled.id, gateway.address);
    await nextBlockAt(job.lockedAt + 149);
    const refused = escrow.connect(gateway).refund(job.id);
    await expectRevert(refused, "Job_TooEarly", job.id, job.lockedAt + 150, job.lockedAt + 149);
    await nextBlockAt(job.lockedAt + 150);
    await escrow.connect(gateway).refund(job.id);
  });

  it("leaves its Assignments valid for jobs locked up to the second of its removal", async () => {
    const { world, escrow, gateway, secondGateway, operatorAdmin, client } = await freshWorld();
    const before = await lockJob(world);
    const target = await escrow.getAddress();
    const time = before.lockedAt + 5;
    const same = { id: "0x00000000000070008000000000000abc", lockedAt: time } as const;
    const code = escrow.interface;
    const locking = code.encodeFunctionData("lock", [client.address, 1, same.id, 4_000, 80, 2 ** 40 - 1]);
    const removing = code.encodeFunctionData("rotateSigners", [OPERATOR, [], [], [gateway.address]]);
    const mined = await inOneBlock(time, [
      { from: operatorAdmin, to: target, data: removing },
      { from: secondGateway, to: target, data: locking },
    ]);
    expect(mined).to.deep.equal([true, true]);
    await nextBlockAt(time + 1);
    const after = await lockJob(world, { gateway: secondGateway });
    expect([after.lockedAt, await signer(world, gateway)]).to.deep.equal([time + 1, [OPERATOR, time]]);

    await sendAcknowledge(world, before);
    await sendAcknowledge(world, same);
    await expectRevert(sendAcknowledge(world, after), "Job_NotAssigned", after.id, gateway.address);
    await sendAcknowledge(world, after, { assignedBy: secondGateway });
  });

  it("acknowledges with its Assignment like anyone, not by its call alone", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const job = await lockJob(world);
    await remove(world, gateway);
    const [assignment, , byWorker] = await acknowledgement(world, job);
    const refused = escrow.connect(gateway).acknowledge(assignment, NO_SIGNATURE, byWorker);
    await expectRevert(refused, "ECDSAInvalidSignature");
    await sendAcknowledge(world, job, { sender: gateway });
  });

  it("that returned assigns jobs of every time", async () => {
    const { world, operatorAdmin, gateway, secondGateway } = await freshWorld();
    await remove(world, gateway);
    const job = await lockJob(world, { gateway: secondGateway });
    await addSigners(world, OPERATOR, operatorAdmin, [gateway]);
    await sendAcknowledge(world, job);
    expect((await world.escrow.jobOf(job.id)).status).to.equal(2);
  });
});

it("The jobs of an operator are ended by a signer that was added after their lock", async () => {
  const world = await freshWorld();
  const job = await lockJob(world);
  const key = other(world, first);
  await addSigners(world, OPERATOR, world.operatorAdmin, [key]);
  await sendAcknowledge(world, job, { assignedBy: key });
  await sendComplete(world, job, { gateway: key });
  expect((await world.escrow.jobOf(job.id)).status).to.equal(4);
});
