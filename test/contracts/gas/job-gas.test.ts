import { expect } from "chai";
import { networkHelpers } from "../support/chain.ts";
import { deployCrowd } from "./crowd.ts";
import { type Flow, gasPerJob } from "./measure.ts";

describe("Gas of a whole job", () => {
  for (const flow of ["fused", "acknowledged", "shared"] as Flow[]) {
    for (const size of [1, 8, 32, 64]) {
      it(`${flow} ${size}`, async () => {
        const world = await networkHelpers.loadFixture(deployCrowd);
        console.log(flow, size, JSON.stringify(await gasPerJob(world, world.pairs.slice(0, size), flow)));
      });
    }
  }
});
