/** The time windows of a deployment: readable for ever, and refused where a deadline could not be kept. */
import { expect } from "chai";
import { windowsOf } from "../../../contracts/ignition/protocol.ts";
import { DEFAULT_DURATIONS, type Windows } from "../../../contracts/ignition/settings.ts";
import { escrowFactory } from "../support/escrow-factory.ts";
import { freshBare } from "../support/fresh.ts";

const WINDOWS = windowsOf(DEFAULT_DURATIONS);

describe("The windows", () => {
  it("are what was deployed", async () => {
    const { escrow } = await freshBare();
    const { completion, inclusion, finalization, dispute, arbitration, equivocation, notice } = WINDOWS;
    expect(await escrow.windows()).to.deep.equal(
      [completion, inclusion, finalization, dispute, arbitration, equivocation, notice].map(BigInt),
    );
  });

  for (const [name, change] of [
    ["an arbitration beyond 32 bits of seconds", { arbitration: 2 ** 32 - 1 }],
    ["an equivocation window as long as the unbonding period", { equivocation: DEFAULT_DURATIONS.unbonding }],
    ["a finalization that ends with the unbonding period", { finalization: 86_400 - 150 }],
  ] as [string, Partial<Windows>][]) {
    it(`are refused with ${name}`, async () => {
      const { escrow, token, catalog, registry, panel, owner, treasury } = await freshBare();
      const factory = await escrowFactory();
      const windows = { ...WINDOWS, ...change };
      await expect(
        factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 1_000, windows),
      ).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
    });
  }
});
