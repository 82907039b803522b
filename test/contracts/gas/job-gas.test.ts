/** Gas of a whole job, as a table; fails above the bar. */
import { expect } from "chai";
import { networkHelpers } from "../support/chain.ts";
import { deployCrowd } from "./crowd.ts";
import { type Flow, gasPerJob, type JobGas } from "./measure.ts";

const SIZES = [1, 8, 32, 64];
/** Most gas a whole job may cost in batches of 32. */
const BARS: Record<Flow, number> = { fused: 88_000, acknowledged: 100_000, shared: 96_000 };

describe("Gas of a whole job", () => {
  const rows: string[] = [];
  for (const [flow, bar] of Object.entries(BARS) as [Flow, number][]) {
    it(`is at most ${bar} in batches of 32: ${flow}`, async () => {
      const world = await networkHelpers.loadFixture(deployCrowd);
      const measured = new Map<number, JobGas>();
      for (const size of SIZES) {
        const snapshot = await networkHelpers.takeSnapshot();
        measured.set(size, await gasPerJob(world, world.pairs.slice(0, size), flow));
        await snapshot.restore();
      }
      for (const [size, { lock, acknowledge, complete, total }] of measured) {
        rows.push([flow.padEnd(14), ...[size, lock, acknowledge, complete, total].map((n) => String(n).padStart(12))].join(""));
      }
      expect(measured.get(32)?.total).to.be.at.most(bar);
    });
  }

  after(() => {
    const header = ["gas per job   ", ...["batch", "lock", "acknowledge", "complete", "total"].map((name) => name.padStart(12))].join("");
    console.log([header, ...rows].map((row) => `      ${row}`).join("\n"));
  });
});
