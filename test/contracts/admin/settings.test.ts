/** What governance and guardian set, from when on, and within which bounds. */
import { expect } from "chai";
import {
  DEFAULT_COMPENSATION_CAP,
  DEFAULT_DURATIONS,
  type Windows,
  windowsOf,
} from "../../../scripts/deploy/protocol-settings.ts";
import { someAddress } from "../support/actors.ts";
import { DAY, ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { deployEscrow, escrowFactory } from "../support/escrow-factory.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import { sendLock } from "../support/jobs.ts";
import { OTHER_CHAIN_ID, otherChain } from "../support/other-chain.ts";
import { buyCredits, CHAIN_ID, OPERATOR } from "../support/world.ts";

describe("Roles of the escrow", () => {
  it("end with their holder: an old guardian can do nothing", async () => {
    const { escrow, guardian, stranger } = await freshBare();
    await escrow.setGuardian(stranger.address);
    for (const attempt of [
      () => escrow.connect(guardian).setPaused(true),
      () => escrow.connect(guardian).stopOperator(OPERATOR, true),
    ]) {
      await expectRevert(attempt(), "Admin_NotGuardian", guardian.address);
    }
    await escrow.connect(stranger).setPaused(true);
    await escrow.setGuardian(ethers.ZeroAddress);
    expect(await escrow.guardian()).to.equal(ethers.ZeroAddress);
  });

  it("are counted: each change has the next number", async () => {
    const { escrow, guardian } = await freshBare();
    const other = someAddress("other");
    // Treasury, guardian, cap, fee and two operators at deployment were 1 … 6.
    await expect(escrow.admitOperator(other)).to.emit(escrow, "OperatorAdmitted").withArgs(3, other, 7);
    await expect(escrow.stopOperator(3, true)).to.emit(escrow, "OperatorStopped").withArgs(3, 8, true);
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await expect(escrow.scheduleFee(0, 0))
      .to.emit(escrow, "FeeScheduled")
      .withArgs(9, 0, 0, at + DAY);
    await expect(escrow.setTreasury(other)).to.emit(escrow, "TreasurySet").withArgs(10, other);
    await expect(escrow.setGuardian(other)).to.emit(escrow, "GuardianSet").withArgs(11, other);
    await expect(escrow.setPaused(true)).to.emit(escrow, "PausedSet").withArgs(12, false, true);
    await expect(escrow.setCompensationCap(0)).to.emit(escrow, "CompensationCapSet").withArgs(13, 0);
    await expectRevert(escrow.connect(guardian).setPaused(false), "Admin_NotGuardian");
  });
});

describe("A pause", () => {
  it("of governance outranks the guardian's, which can neither lift nor claim it", async () => {
    const { world, escrow, owner, guardian, client } = await freshWorld();
    await escrow.connect(owner).setPaused(true);
    for (const [paused, flags] of [
      [false, [false, true]],
      [true, [true, true]],
      [false, [false, true]],
      [true, [true, true]],
    ] as const) {
      const setting = escrow.connect(guardian).setPaused(paused);
      await expect(setting)
        .to.emit(escrow, "PausedSet")
        .withArgs((n: bigint) => n > 0n, ...flags);
      expect(await escrow.paused()).to.deep.equal(flags);
      await expectRevert(buyCredits(world, client, 100), "Ledger_Paused");
      await expectRevert(sendLock(world), "Ledger_Paused");
    }
    // It ends both.
    await escrow.connect(owner).setPaused(false);
    expect(await escrow.paused()).to.deep.equal([false, false]);
    await buyCredits(world, client, 100);
    await sendLock(world);
  });

  it("of the guardian stops deposits and locks only, until either ends it", async () => {
    const { world, escrow, owner, guardian, client } = await freshWorld();
    for (const lifter of [guardian, owner]) {
      await escrow.connect(guardian).setPaused(true);
      await expectRevert(buyCredits(world, client, 100), "Ledger_Paused");
      await expectRevert(sendLock(world), "Ledger_Paused");
      await escrow.connect(lifter).setPaused(false);
      expect(await escrow.paused()).to.deep.equal([false, false]);
      await buyCredits(world, client, 100);
      await sendLock(world);
    }
  });
});

describe("The fee", () => {
  it("takes effect after a day, not a second sooner, and keeps the old one until then", async () => {
    const { escrow } = await freshBare();
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await escrow.scheduleFee(500, 0);
    await mineAt(at + DAY - 1);
    expect(await escrow.feeBps()).to.equal(1_000);
    await mineAt(at + DAY);
    expect(await escrow.feeBps()).to.equal(500);
  });

  it("replaces an announcement that is not in force, and builds on one that is", async () => {
    const { escrow } = await freshBare();
    await escrow.scheduleFee(500, 0);
    await escrow.scheduleFee(600, 0);
    expect(await escrow.feeBps()).to.equal(1_000);
    await nextBlockAt((await now()) + DAY);
    await escrow.scheduleFee(700, 0);
    expect(await escrow.feeBps()).to.equal(600);
  });

  it("takes the operators' share of it along, which is 0 at first and half at most", async () => {
    const { escrow } = await freshBare();
    expect(await escrow.operatorShare()).to.equal(0);
    await expectRevert(escrow.scheduleFee(1_000, 11), "Admin_ShareAboveCap", 11, 10);
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await expect(escrow.scheduleFee(2_000, 10))
      .to.emit(escrow, "FeeScheduled")
      .withArgs(7, 2_000, 10, at + DAY);
    await mineAt(at + DAY - 1);
    expect([await escrow.feeBps(), await escrow.operatorShare()]).to.deep.equal([1_000n, 0n]);
    await mineAt(at + DAY);
    expect([await escrow.feeBps(), await escrow.operatorShare()]).to.deep.equal([2_000n, 10n]);
    // The next announcement keeps what is in force.
    await escrow.scheduleFee(0, 1);
    expect([await escrow.feeBps(), await escrow.operatorShare()]).to.deep.equal([2_000n, 10n]);
    expect([await escrow.FEE_CAP_BPS(), await escrow.OPERATOR_SHARE_CAP()]).to.deep.equal([2_000n, 10n]);
  });

  it("is 20 % at most, from the first day on", async () => {
    const { world, escrow } = await freshBare();
    await escrow.scheduleFee(2_000, 0);
    await expectRevert(escrow.scheduleFee(2_001, 0), "Admin_FeeAboveCap", 2_001, 2_000);
    await deployEscrow(world, { feeBps: 2_000 });
    await expectRevert(deployEscrow(world, { feeBps: 2_001 }), "Admin_FeeAboveCap", 2_001, 2_000);
  });
});

it("The treasury's address is never where fees would be lost", async () => {
  const { world, escrow, token } = await freshBare();
  for (const lost of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()])
    await expectRevert(escrow.setTreasury(lost), "Admin_InvalidAddress", lost);
  for (const lost of [ethers.ZeroAddress, await token.getAddress()])
    await expectRevert(deployEscrow(world, { treasury: lost }), "Admin_InvalidAddress", lost);
});

describe("The cap of compensations", () => {
  const CEILING = 1_000_000;

  it("is the owner's to set, from nothing up to the ceiling", async () => {
    const { escrow, owner } = await freshBare();
    expect(await escrow.compensationCap()).to.equal(DEFAULT_COMPENSATION_CAP);
    expect(await escrow.COMPENSATION_CEILING()).to.equal(CEILING);
    for (const [i, cap] of [0, CEILING].entries()) {
      await expect(escrow.connect(owner).setCompensationCap(cap))
        .to.emit(escrow, "CompensationCapSet")
        .withArgs(7 + i, cap);
      expect(await escrow.compensationCap()).to.equal(cap);
    }
  });

  it("is 10,000 of the stablecoin a day at most, from the first day on", async () => {
    const { world, escrow } = await freshBare();
    for (const cap of [CEILING + 1, 2 ** 40 - 1])
      await expectRevert(escrow.setCompensationCap(cap), "Admin_CompensationAboveCeiling", cap, CEILING);
    await deployEscrow(world, { cap: CEILING });
    const above = deployEscrow(world, { cap: CEILING + 1 });
    await expectRevert(above, "Admin_CompensationAboveCeiling", CEILING + 1, CEILING);
  });
});

// The time windows of a deployment: readable for ever, and refused where a deadline could not be kept.

const WINDOWS = windowsOf(DEFAULT_DURATIONS);
const name = ethers.encodeBytes32String;

/** Sends deployments of escrows whose workers unbond that long, in seconds. */
async function deployments(on = ethers) {
  const [owner] = await on.getSigners();
  if (owner === undefined) throw new Error("too few accounts");
  const token = await on.deployContract("TestStablecoin");
  const treasury = await on.deployContract("ProtocolTreasury", [owner, token]);
  const factory = await escrowFactory(on);
  const deploy = async (windows: Windows, unbonding: number) => {
    const registry = await on.deployContract("WorkerRegistry", [owner, token, 1, 1, 1, unbonding]);
    // Catalog and panel are only kept.
    const roles = [token, token, registry, token, owner, owner, treasury] as const;
    return await factory.deploy(...roles, 1_000, DEFAULT_COMPENSATION_CAP, windows);
  };
  return { deploy, factory };
}

describe("The windows", () => {
  it("are what was deployed", async () => {
    const { escrow } = await freshBare();
    const { completion, inclusion, finalization, dispute, arbitration, equivocation, notice } = WINDOWS;
    expect(await escrow.windows()).to.deep.equal(
      [completion, inclusion, finalization, dispute, arbitration, equivocation, notice].map(BigInt),
    );
  });

  for (const [chainId, on, least] of [
    [
      CHAIN_ID,
      ethers,
      {
        completion: 1,
        inclusion: 1,
        finalization: 1,
        dispute: 1,
        notice: 1,
        arbitration: 3,
        equivocation: 3,
        unbonding: 8,
      },
    ],
    [
      OTHER_CHAIN_ID,
      otherChain,
      {
        completion: 60,
        inclusion: 24,
        finalization: 1_800,
        dispute: 60,
        notice: 43_200,
        arbitration: 45_000,
        equivocation: 45_000,
        unbonding: 46_885,
      },
    ],
  ] as const) {
    it(`have minima on chain ${chainId}, and not a second less of any is taken`, async () => {
      const { deploy, factory } = await deployments(on);
      expect((await on.provider.getNetwork()).chainId).to.equal(BigInt(chainId));
      const { unbonding, ...windows } = least;
      await deploy(windows, unbonding);
      for (const [window, minimum] of Object.entries(windows)) {
        await expect(deploy({ ...windows, [window]: minimum - 1 }, unbonding), window)
          .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
          .withArgs(name(window), minimum - 1, minimum);
      }
      const refused = deploy(windows, unbonding - 1);
      await expectRevert(refused, "Admin_InvalidWindow", name("unbonding"), unbonding - 1, unbonding);
    });
  }

  // A job's own window comes before the ruling: arbiters need time after the longer of its two kinds.
  for (const [kind, change, longest] of [
    ["proven", {}, 3_600],
    ["settled", { dispute: 4_000 }, 4_030],
  ] as [string, Partial<Windows>, number][]) {
    for (const [chainId, on, more] of [
      [CHAIN_ID, ethers, 1],
      [OTHER_CHAIN_ID, otherChain, 43_200],
    ] as const) {
      it(`leave arbiters ${more} s after the window of a ${kind} job on chain ${chainId}`, async () => {
        const { deploy } = await deployments(on);
        const least = { ...WINDOWS, ...change, arbitration: longest + more };
        await deploy(least, DEFAULT_DURATIONS.unbonding);
        const refused = deploy({ ...least, arbitration: longest + more - 1 }, DEFAULT_DURATIONS.unbonding);
        await expectRevert(refused, "Admin_InvalidWindow", name("arbitration"), longest + more - 1, longest + more);
      });
    }
  }

  it("punish an equivocation at least as long as a dispute is arbitrated", async () => {
    const { deploy } = await deployments();
    const { arbitration } = WINDOWS;
    await deploy({ ...WINDOWS, equivocation: arbitration }, DEFAULT_DURATIONS.unbonding);
    const refused = deploy({ ...WINDOWS, equivocation: arbitration - 1 }, DEFAULT_DURATIONS.unbonding);
    await expectRevert(refused, "Admin_InvalidWindow", name("equivocation"), arbitration - 1, arbitration);
  });

  // Slashable for that long after the lock; the operator can be charged for so long.
  for (const [path, change, slashable, risk] of [
    // 150 + 3,600 + 86,400: proven in the last second, disputed in the last second, ruled in the last second.
    ["a proven job's dispute", {}, 90_150, 259_200],
    // 150 + 60 + 30 + 86,400: the same of a settled job beats a finalization of 10 s.
    ["a settled job's dispute", { finalization: 10 }, 86_640, 259_200],
    ["an equivocation", { equivocation: 200_000 }, 200_000, 486_400],
    // A slow answer outlasts even the second dispute.
    ["a long answer", { completion: 1_000_000 }, 1_090_030, 1_090_030],
  ] as [string, Partial<Windows>, number, number][]) {
    it(`must be shorter together than the unbonding of a stake, where ${path} ends last`, async () => {
      const { deploy } = await deployments();
      const windows = { ...WINDOWS, ...change };
      const refused = deploy(windows, slashable);
      await expectRevert(refused, "Admin_InvalidWindow", name("unbonding"), slashable, slashable + 1);
      expect(await (await deploy(windows, slashable + 1)).LONGEST_RISK()).to.equal(risk);
    });
  }

  it("fit 32 bits of seconds, all together", async () => {
    const { deploy, factory } = await deployments();
    const third = (2 ** 32 - 1) / 3;
    // Twice the equivocation and once the arbitration.
    const most = { ...WINDOWS, arbitration: third, equivocation: third };
    expect(await (await deploy(most, 2 ** 32)).LONGEST_RISK()).to.equal(2 ** 32 - 1);
    const refused = deploy({ ...most, arbitration: third - 1, equivocation: third + 1 }, 2 ** 32);
    await expectRevert(refused, "Admin_InvalidWindow", name("all"), 2 ** 32, 2 ** 32 - 1);
    const full = 2 ** 32 - 1;
    await expect(deploy({ ...WINDOWS, arbitration: full, equivocation: full }, 2 ** 40 - 1))
      .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
      .withArgs(name("all"), 3 * full, full);
  });
});
