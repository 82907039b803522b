import { expect } from "chai";
import { ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";

const MINIMUM = 1_000_000_000n;
const SLASH = 500_000_000n;

describe("The registry's stake terms", () => {
  it("are in force after the unbonding period, not a second sooner", async () => {
    const { registry, worker } = await freshWorld();
    const period = await registry.unbondingPeriod();
    const announced = (await now()) + 1;
    const effectiveAt = BigInt(announced) + period;
    await nextBlockAt(announced);
    await expect(registry.scheduleStakeTerms(MINIMUM + 1n, MINIMUM))
      .to.emit(registry, "StakeTermsScheduled")
      .withArgs(2, MINIMUM + 1n, MINIMUM, effectiveAt);
    await mineAt(effectiveAt - 1n);
    expect(await registry.minimumStake()).to.equal(MINIMUM);
    expect(await registry.slashAmount()).to.equal(SLASH);
    expect(await registry.nextStakeTerms()).to.deep.equal([MINIMUM + 1n, MINIMUM, effectiveAt]);
    expect((await registry.workerAt(worker.id)).active).to.equal(true);
    await mineAt(effectiveAt);
    expect(await registry.minimumStake()).to.equal(MINIMUM + 1n);
    expect(await registry.slashAmount()).to.equal(MINIMUM);
    expect(await registry.nextStakeTerms()).to.deep.equal([0n, 0n, 0n]);
    expect((await registry.workerAt(worker.id)).active).to.equal(false);
  });

  it("replace an announcement that is not in force, and build on one that is", async () => {
    const { registry } = await freshWorld();
    const period = await registry.unbondingPeriod();
    await registry.scheduleStakeTerms(MINIMUM * 2n, SLASH);
    await registry.scheduleStakeTerms(MINIMUM * 3n, SLASH);
    await mineAt(BigInt(await now()) + period);
    expect(await registry.minimumStake()).to.equal(MINIMUM * 3n);
    await registry.scheduleStakeTerms(MINIMUM, SLASH);
    expect(await registry.minimumStake()).to.equal(MINIMUM * 3n);
  });

  it("never slash nothing, never more than the minimum stake, and fit their slot", async () => {
    const { registry } = await freshWorld();
    const largest = 2n ** 48n - 1n;
    for (const [minimum, slash] of [
      [MINIMUM, 0n],
      [MINIMUM, MINIMUM + 1n],
      [0n, 0n],
      [largest + 1n, 1n],
    ] as const) {
      await expectRevert(registry.scheduleStakeTerms(minimum, slash), "Registry_InvalidStakeTerms", minimum, slash);
    }
    await registry.scheduleStakeTerms(largest, largest);
  });

  it("names the escrow once and for all", async () => {
    const { registry, stranger, owner, svc } = await freshWorld();
    await expectRevert(registry.setEscrow(stranger), "Registry_InvalidEscrow");
    const other = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, 1]);
    await expectRevert(other.setEscrow(ethers.ZeroAddress), "Registry_InvalidEscrow");
    await expect(other.setEscrow(stranger)).to.emit(other, "EscrowSet").withArgs(stranger.address);
  });
});
