import { expect } from "chai";
import { decodePayee } from "../../../protocol/words.ts";
import { someAddress } from "../support/actors.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";

const PAYOUT = someAddress("payout");

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
    await expect(registry.connect(workerOwner).setPayout(worker.key.address, payout))
      .to.emit(registry, "PayoutSet")
      .withArgs(worker.id, worker.key.address, 4, payout);
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
    await expect(mine.setHosting(signer, [1, 2], false))
      .to.emit(registry, "HostingSet")
      .withArgs(worker.id, signer, 4, [1, 2], false);
    // The first 15 are kept apart from the rest, which stand in words of 256.
    const added = [15, 16, 255, 256, 65_535];
    await mine.setHosting(signer, added, true);
    expect([...(await registry.workerAt(worker.id)).models]).to.deep.equal([
      3n,
      4n,
      5n,
      6n,
      7n,
      8n,
      15n,
      16n,
      255n,
      256n,
      65_535n,
    ]);
    expect(await Promise.all(added.map(eligible))).to.deep.equal([true, true, true, true, true]);
    expect(await Promise.all([1, 2, 14, 17, 254, 257, 65_534].map(eligible))).to.deep.equal(Array(7).fill(false));
    await mine.setHosting(signer, added, false);
    expect(await Promise.all(added.map(eligible))).to.deep.equal([false, false, false, false, false]);
    await mine.setHosting(signer, [3, 3], true);
    expect(await eligible(3)).to.equal(true);
    await expectRevert(mine.setHosting(signer, [4, 0], true), "Registry_InvalidModel", 0);
  });
});
