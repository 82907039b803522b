/** Who is a worker, and what its owner decides. */
import { expect } from "chai";
import { decodePayee } from "../../../protocol/words.ts";
import { signingKey, someAddress } from "../support/actors.ts";
import { ethers } from "../support/chain.ts";
import { expectRevert, expectTokens, fieldsOf } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import { type BareWorld, enroll, registerWorker, STAKE_UNIT } from "../support/world.ts";

const ENDPOINT = "https://worker.example";
const PAYOUT = someAddress("payout");

type Overrides = { payout?: string; endpoint?: string; models?: number[]; stake?: bigint };

async function register(world: BareWorld, overrides: Overrides = {}) {
  const { payout = PAYOUT, endpoint = ENDPOINT, models = [], stake = 0n } = overrides;
  const key = signingKey("newcomer");
  const enrollment = await enroll(world, key, world.workerOwner.address);
  return await world.registry
    .connect(world.workerOwner)
    .register(key.address, payout, endpoint, models, stake, enrollment);
}

describe("register", () => {
  it("makes the caller owner of the key and tells so", async () => {
    const { world, registry, workerOwner } = await freshBare();
    const signer = signingKey("newcomer").address;
    await expect(register(world))
      .to.emit(registry, "WorkerRegistered")
      .withArgs(1, signer, workerOwner.address, 1, PAYOUT, ENDPOINT);
    const registered = {
      signer,
      owner: workerOwner.address,
      payout: PAYOUT,
      stake: 0n,
      active: false,
      endpoint: ENDPOINT,
    };
    expect(fieldsOf(await registry.workerAt(1))).to.include(registered);
    expect(await registry.workerCount()).to.equal(1);
    expect([await registry.signerOf(1), await registry.signerOf(2)]).to.deep.equal([signer, ethers.ZeroAddress]);
  });

  it("takes stake and models along, each with its event and number", async () => {
    const { world, registry, svc, workerOwner } = await freshBare();
    const signer = signingKey("newcomer").address;
    await svc.transfer(workerOwner.address, 1_000_000_000n * STAKE_UNIT);
    await svc.connect(workerOwner).approve(registry, 1_000_000_000n * STAKE_UNIT);
    const registering = register(world, { models: [8, 1, 300], stake: 1_000_000_000n });
    await expect(registering).to.emit(registry, "HostingSet").withArgs(1, signer, 2, [8, 1, 300], true);
    await expect(registering).to.emit(registry, "StakeAdded").withArgs(1, signer, 3, 1_000_000_000n, 1_000_000_000n);
    await expectTokens(registering, svc, registry, 1_000_000_000n * STAKE_UNIT);
    const view = await registry.workerAt(1);
    expect([view.active, [...view.models]]).to.deep.equal([true, [1n, 8n, 300n]]);
  });

  it("needs the key's own consent to this owner", async () => {
    const { world, registry, workerOwner, stranger } = await freshBare();
    const [key, other] = [signingKey("newcomer"), signingKey("other")];
    const forOwner = await enroll(world, key, workerOwner.address);
    const refused = registry.connect(stranger).register(key.address, PAYOUT, ENDPOINT, [], 0, forOwner);
    await expectRevert(refused, "Registry_InvalidEnrollment");
    const byOther = await enroll(world, other, workerOwner.address);
    await expect(registry.connect(workerOwner).register(key.address, PAYOUT, ENDPOINT, [], 0, byOther))
      .to.be.revertedWithCustomError(registry, "Registry_InvalidEnrollment")
      .withArgs(key.address, other.address);
  });

  it("takes a key once", async () => {
    const world = await freshBare();
    await register(world);
    await expectRevert(register(world), "Registry_WorkerExists", signingKey("newcomer").address);
  });

  it("gives ids in order", async () => {
    const world = await freshWorld();
    expect([world.worker.id, world.rival.id, (await registerWorker(world, "third")).id]).to.deep.equal([1, 2, 3]);
  });

  it("refuses payouts where tokens would be lost, here and later", async () => {
    const { world, registry, workerOwner, escrow, token } = await freshBare();
    const lost = [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()];
    for (const payout of lost) await expectRevert(register(world, { payout }), "Registry_InvalidPayout", payout);
    await register(world);
    const signer = signingKey("newcomer").address;
    for (const payout of lost)
      await expectRevert(registry.connect(workerOwner).setPayout(signer, payout), "Registry_InvalidPayout", payout);
  });

  it("takes endpoints of 1 to 200 bytes, here and later", async () => {
    const { world, registry, workerOwner } = await freshBare();
    for (const endpoint of ["", "x".repeat(201)])
      await expectRevert(register(world, { endpoint }), "Registry_InvalidEndpoint");
    await register(world, { endpoint: "x".repeat(200) });
    const signer = signingKey("newcomer").address;
    await expectRevert(registry.connect(workerOwner).setEndpoint(signer, ""), "Registry_InvalidEndpoint");
    await expectRevert(registry.connect(workerOwner).setEndpoint(signer, "x".repeat(201)), "Registry_InvalidEndpoint");
    const sent = registry.connect(workerOwner).setEndpoint(signer, "y");
    await expect(sent).to.emit(registry, "EndpointSet").withArgs(1, signer, 2, "y");
  });

  it("waits for the escrow: without it no payout can be checked", async () => {
    const { owner, svc } = await freshBare();
    const registry = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, 1, 1]);
    const signature = { r: ethers.ZeroHash, vs: `0x${"00".repeat(31)}01` };
    await expect(registry.register(owner, PAYOUT, ENDPOINT, [], 0, signature)).to.revert(ethers);
    const key = signingKey("newcomer");
    const enrollment = await enroll({ registry } as unknown as BareWorld, key, owner.address);
    await expectRevert(registry.register(key.address, PAYOUT, ENDPOINT, [], 0, enrollment), "Registry_InvalidEscrow");
  });
});

describe("A worker's settings", () => {
  it("are its owner's: not the key's, not a stranger's, not governance's", async () => {
    const { registry, worker, stranger, owner } = await freshWorld();
    const signer = worker.key.address;
    for (const caller of [stranger, owner]) {
      const mine = registry.connect(caller);
      const attempts = [
        () => mine.setPayout(signer, PAYOUT),
        () => mine.setEndpoint(signer, "x"),
        () => mine.setHosting(signer, [1], false),
        () => mine.startUnbonding(signer),
        () => mine.cancelUnbonding(signer),
        () => mine.withdrawStake(signer, caller.address),
      ];
      for (const attempt of attempts) await expectRevert(attempt(), "Registry_NotOwner", signer, caller.address);
    }
  });

  it("exist for registered workers only", async () => {
    const { registry } = await freshWorld();
    const nobody = someAddress("nobody");
    const attempts = [
      registry.setPayout(nobody, PAYOUT),
      registry.setEndpoint(nobody, "x"),
      registry.setHosting(nobody, [1], true),
      registry.startUnbonding(nobody),
      registry.cancelUnbonding(nobody),
      registry.withdrawStake(nobody, nobody),
      registry.addStake(nobody, 1),
    ];
    for (const attempt of attempts) await expectRevert(attempt, "Registry_UnknownWorker", nobody);
    await expectRevert(registry.workerAt(3), "Registry_UnknownWorker");
    for (const model of [0, 1]) expect(await registry.payeeOf(nobody, model)).to.equal(0);
  });

  it("change where it is paid", async () => {
    const { registry, worker, workerOwner } = await freshWorld();
    const payout = someAddress("new payout");
    const sent = registry.connect(workerOwner).setPayout(worker.key.address, payout);
    await expect(sent).to.emit(registry, "PayoutSet").withArgs(worker.id, worker.key.address, 4, payout);
    for (const model of [0, 1]) {
      const payee = decodePayee(await registry.payeeOf(worker.key.address, model));
      expect(payee).to.deep.equal({ id: worker.id, payout });
    }
  });

  it("change what it hosts, model by model", async () => {
    const { registry, worker, workerOwner } = await freshWorld();
    const signer = worker.key.address;
    const mine = registry.connect(workerOwner);
    const eligible = async (model: number) => (await registry.payeeOf(signer, model)) !== 0n;
    const sent = mine.setHosting(signer, [1, 2], false);
    await expect(sent).to.emit(registry, "HostingSet").withArgs(worker.id, signer, 4, [1, 2], false);
    // The first 15 are kept apart from the rest, which stand in words of 256.
    const added = [15, 16, 255, 256, 65_535];
    await mine.setHosting(signer, added, true);
    const models = [3, 4, 5, 6, 7, 8, ...added].map(BigInt);
    expect([...(await registry.workerAt(worker.id)).models]).to.deep.equal(models);
    expect(await Promise.all(added.map(eligible))).to.deep.equal([true, true, true, true, true]);
    expect(await Promise.all([1, 2, 14, 17, 254, 257, 65_534].map(eligible))).to.deep.equal(Array(7).fill(false));
    await mine.setHosting(signer, added, false);
    expect(await Promise.all(added.map(eligible))).to.deep.equal([false, false, false, false, false]);
    await mine.setHosting(signer, [3, 3], true);
    expect(await eligible(3)).to.equal(true);
    await expectRevert(mine.setHosting(signer, [4, 0], true), "Registry_InvalidModel", 0);
  });
});
