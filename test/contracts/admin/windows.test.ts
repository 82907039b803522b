/** The time windows of a deployment: readable for ever, and refused where a deadline could not be kept. */
import { expect } from "chai";
import {
  DEFAULT_COMPENSATION_CAP,
  DEFAULT_DURATIONS,
  type Windows,
  windowsOf,
} from "../../../scripts/deploy/protocol-settings.ts";
import { ethers } from "../support/chain.ts";
import { escrowFactory } from "../support/escrow-factory.ts";
import { freshBare } from "../support/fresh.ts";
import { OTHER_CHAIN_ID, otherChain } from "../support/other-chain.ts";
import { CHAIN_ID } from "../support/world.ts";

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
    const registry = await on.deployContract("WorkerRegistry", [owner, token, 1, 1, unbonding]);
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
      await expect(deploy(windows, unbonding - 1))
        .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
        .withArgs(name("unbonding"), unbonding - 1, unbonding);
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
        const { deploy, factory } = await deployments(on);
        const least = { ...WINDOWS, ...change, arbitration: longest + more };
        await deploy(least, DEFAULT_DURATIONS.unbonding);
        await expect(deploy({ ...least, arbitration: longest + more - 1 }, DEFAULT_DURATIONS.unbonding))
          .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
          .withArgs(name("arbitration"), longest + more - 1, longest + more);
      });
    }
  }

  it("punish an equivocation at least as long as a dispute is arbitrated", async () => {
    const { deploy, factory } = await deployments();
    const { arbitration } = WINDOWS;
    await deploy({ ...WINDOWS, equivocation: arbitration }, DEFAULT_DURATIONS.unbonding);
    await expect(deploy({ ...WINDOWS, equivocation: arbitration - 1 }, DEFAULT_DURATIONS.unbonding))
      .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
      .withArgs(name("equivocation"), arbitration - 1, arbitration);
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
    it(`must be shorter, added up, than the unbonding of a stake, where ${path} is punished last`, async () => {
      const { deploy, factory } = await deployments();
      const windows = { ...WINDOWS, ...change };
      await expect(deploy(windows, slashable))
        .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
        .withArgs(name("unbonding"), slashable, slashable + 1);
      expect(await (await deploy(windows, slashable + 1)).LONGEST_RISK()).to.equal(risk);
    });
  }

  it("fit 32 bits of seconds, all together", async () => {
    const { deploy, factory } = await deployments();
    const third = (2 ** 32 - 1) / 3;
    // Twice the equivocation and once the arbitration.
    const most = { ...WINDOWS, arbitration: third, equivocation: third };
    expect(await (await deploy(most, 2 ** 32)).LONGEST_RISK()).to.equal(2 ** 32 - 1);
    await expect(deploy({ ...most, arbitration: third - 1, equivocation: third + 1 }, 2 ** 32))
      .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
      .withArgs(name("all"), 2 ** 32, 2 ** 32 - 1);
    const full = 2 ** 32 - 1;
    await expect(deploy({ ...WINDOWS, arbitration: full, equivocation: full }, 2 ** 40 - 1))
      .to.be.revertedWithCustomError(factory, "Admin_InvalidWindow")
      .withArgs(name("all"), 3 * full, full);
  });
});
