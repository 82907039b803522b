import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";

const MINIMUM = 1_000_000_000n;

describe("The registry's configuration", () => {
  it("is governance's", async () => {
    const { registry, stranger, escrow } = await freshWorld();
    const error = "OwnableUnauthorizedAccount";
    await expect(registry.connect(stranger).setMinimumStake(1))
      .to.be.revertedWithCustomError(registry, error)
      .withArgs(stranger.address);
    await expect(registry.connect(stranger).setEscrow(escrow))
      .to.be.revertedWithCustomError(registry, error)
      .withArgs(stranger.address);
  });

  it("changes the minimum stake with immediate effect on who is active, never to zero", async () => {
    const { registry, worker } = await freshWorld();
    await expect(registry.setMinimumStake(0)).to.be.revertedWithCustomError(registry, "Registry_InvalidConfiguration");
    await expect(registry.setMinimumStake(MINIMUM + 1n))
      .to.emit(registry, "MinimumStakeSet")
      .withArgs(3, MINIMUM + 1n);
    expect((await registry.workerAt(worker.id)).active).to.equal(false);
    await registry.setMinimumStake(MINIMUM);
    expect((await registry.workerAt(worker.id)).active).to.equal(true);
  });

  it("names the escrow once and for all", async () => {
    const { registry, stranger, owner, svc } = await freshWorld();
    await expect(registry.setEscrow(stranger)).to.be.revertedWithCustomError(registry, "Registry_InvalidConfiguration");
    const other = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, 1]);
    await expect(other.setEscrow(ethers.ZeroAddress)).to.be.revertedWithCustomError(
      registry,
      "Registry_InvalidConfiguration",
    );
    await expect(other.setEscrow(stranger)).to.emit(other, "EscrowSet").withArgs(stranger.address);
  });
});
