/** A wallet chooses the one operator that may lock its credits: by its deposit or by a call, and as often as it likes. */
import { expect } from "chai";
import { answerAtOnce, executeBatch } from "../support/batch.ts";
import { ethers } from "../support/chain.ts";
import { sendDispute, settledJob } from "../support/disputes.ts";
import { expectRevert, fieldsOf } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import { lockJob, sendLock } from "../support/jobs.ts";
import { buyCredits, OPERATOR, OTHER_OPERATOR, provide, type World } from "../support/world.ts";

const chosenBy = async ({ escrow }: Pick<World, "escrow">, wallet: { address: string }) =>
  Number((await escrow.accountOf(wallet.address)).operator);

/** The signers of an operator cannot lock the client's credits; `chosen` is whom it chose. */
async function expectNotChosen(world: World, gateway: World["gateway"], chosen: number, operator: number) {
  await expectRevert(sendLock(world, { gateway }), "Job_OperatorNotChosen", world.client.address, chosen, operator);
}

describe("A deposit", () => {
  it("chooses the operator that it names", async () => {
    const world = await freshBare();
    await buyCredits(world, world.client, 100, OTHER_OPERATOR);
    expect(await chosenBy(world, world.client)).to.equal(OTHER_OPERATOR);
    await buyCredits(world, world.client, 100, OPERATOR);
    expect(await chosenBy(world, world.client)).to.equal(OPERATOR);
  });

  it("that names none changes nothing, and leaves a new wallet without one", async () => {
    const { world, escrow, client, stranger } = await freshWorld();
    for (const [wallet, chosen] of [
      [client, OPERATOR],
      [stranger, 0],
    ] as const) {
      await provide(world, wallet, 1_000_000n);
      await expect(escrow.connect(wallet).deposit(100, 0)).to.emit(escrow, "Deposited");
      expect(await chosenBy(world, wallet)).to.equal(chosen);
    }
    const refused = sendLock(world, { wallet: stranger.address });
    await expectRevert(refused, "Job_OperatorNotChosen", stranger.address, 0, OPERATOR);
  });

  it("names an operator that there is: the last one, and not the next", async () => {
    const { escrow, token, client } = await freshBare();
    await provide({ escrow, token }, client, 2_000_000n);
    const none = [ethers.ZeroHash, ethers.ZeroHash] as const;
    for (const operator of [OTHER_OPERATOR + 1, 255]) {
      await expectRevert(escrow.connect(client).deposit(100, operator), "Operator_Unknown", operator);
      const refused = escrow.connect(client).depositWithPermit(100, operator, 0, 27, ...none);
      await expectRevert(refused, "Operator_Unknown", operator);
    }
    await escrow.connect(client).deposit(100, OTHER_OPERATOR);
  });
});

describe("chooseOperator", () => {
  it("holds from the next lock on, tells what it chose and counts", async () => {
    const { world, escrow, client, gateway, otherGateway } = await freshWorld();
    const sent = escrow.connect(client).chooseOperator(OTHER_OPERATOR);
    await expect(sent).to.emit(escrow, "OperatorChosen").withArgs(1, client.address, OTHER_OPERATOR, 2);
    await expectNotChosen(world, gateway, OTHER_OPERATOR, OPERATOR);
    const job = await lockJob(world, { gateway: otherGateway });
    expect((await escrow.jobOf(job.id)).operator).to.equal(OTHER_OPERATOR);
    await expect(escrow.connect(client).chooseOperator(OPERATOR))
      .to.emit(escrow, "OperatorChosen")
      .withArgs(1, client.address, OPERATOR, 3);
    await sendLock(world);
  });

  it("with 0 lets nobody lock any more", async () => {
    const world = await freshWorld();
    const sent = world.escrow.connect(world.client).chooseOperator(0);
    await expect(sent).to.emit(world.escrow, "OperatorChosen").withArgs(1, world.client.address, 0, 2);
    await expectNotChosen(world, world.gateway, 0, OPERATOR);
    await expectNotChosen(world, world.otherGateway, 0, OTHER_OPERATOR);
  });

  it("is the wallet's own call, and names an operator that there is", async () => {
    const { world, escrow, client, stranger, operatorAdmin, owner } = await freshWorld();
    for (const caller of [stranger, operatorAdmin, owner])
      await expectRevert(escrow.connect(caller).chooseOperator(OPERATOR), "Ledger_UnknownAccount", caller.address);
    const refused = escrow.connect(client).chooseOperator(OTHER_OPERATOR + 1);
    await expectRevert(refused, "Operator_Unknown", OTHER_OPERATOR + 1);
    expect(await chosenBy(world, client)).to.equal(OPERATOR);
  });

  it("keeps everything else of the account", async () => {
    const { world, escrow, client } = await freshWorld();
    await lockJob(world);
    await escrow.connect(client).setLimits(true, 500, true);
    const before = fieldsOf(await escrow.accountOf(client.address));
    await escrow.connect(client).chooseOperator(OTHER_OPERATOR);
    expect(fieldsOf(await escrow.accountOf(client.address))).to.deep.equal({
      ...before,
      operator: BigInt(OTHER_OPERATOR),
      sequence: (before["sequence"] ?? 0n) + 1n,
    });
  });

  it("gives no open job to the operator that it names", async () => {
    const { world, escrow, client, otherGateway } = await freshWorld();
    const job = await lockJob(world);
    await escrow.connect(client).chooseOperator(OTHER_OPERATOR);
    const failing = escrow.connect(otherGateway).fail(job.id, 0);
    await expectRevert(failing, "Job_NotItsOperator", job.id, otherGateway.address);
  });
});

describe("A gateway and a worker that empty any wallet in one transaction", () => {
  it("get nothing from a wallet that did not choose the operator", async () => {
    const { world, escrow, client, otherGateway, token, worker } = await freshWorld();
    const before = fieldsOf(await escrow.accountOf(client.address));
    const { failures } = await executeBatch(world, otherGateway, await answerAtOnce(world, 2));
    const refused = (index: number) => failures[index]?.reason;
    expect(failures).to.have.length(4);
    const notChosen = escrow.interface.encodeErrorResult("Job_OperatorNotChosen", [
      client.address,
      OPERATOR,
      OTHER_OPERATOR,
    ]);
    expect([refused(0), refused(2)]).to.deep.equal([notChosen, notChosen]);
    expect(fieldsOf(await escrow.accountOf(client.address))).to.deep.equal(before);
    expect(await token.balanceOf(worker.payout)).to.equal(0);
  });

  it("get all of a wallet that chose the operator and set no limit", async () => {
    const { world, escrow, client, gateway } = await freshWorld();
    const { failures } = await executeBatch(world, gateway, await answerAtOnce(world, 2));
    expect(failures).to.deep.equal([]);
    expect((await escrow.accountOf(client.address)).free).to.equal(0);
  });

  it("can still be disputed by the emptied wallet with a bond of stablecoin", async () => {
    const { world, escrow, client, gateway, guardian, token } = await freshWorld();
    const job = await settledJob(world);
    await executeBatch(world, gateway, await answerAtOnce(world, 2, 4_970));
    await escrow.connect(guardian).setPaused(true);
    expect((await escrow.accountOf(client.address)).free).to.equal(0);
    await provide(world, client, 600_000n);
    await expect(sendDispute(world, job, { by: client })).to.emit(escrow, "JobDisputed");
    expect(await token.balanceOf(client.address)).to.equal(0);
  });
});
