import { expect } from "chai";
import { freshly } from "../support/chain.ts";
import { withShare } from "../support/earnings.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import {
  deployCrowd,
  deployEarningCrowd,
  type Ending,
  endings,
  type Flow,
  gasPerEnding,
  gasPerJob,
} from "./batches.ts";
import { differences, type GasTable, page, readPage, tableOf, writePage } from "./page.ts";
import { gasOfDisputes, gasOfEarnings, gasOfOperations, gasOfWorstCase } from "./single-calls.ts";

const SIZES = [1, 8, 32, 64];

describe("Gas", () => {
  const table: GasTable = {};

  const put = (row: string, size: number, gas: number) => {
    table[row] = { ...table[row], [size]: gas };
  };

  for (const flow of ["fused", "authorized", "shared", "acknowledged"] as Flow[]) {
    it(`of a whole job, ${flow}`, async () => {
      for (const size of SIZES) {
        const world = await freshly(deployCrowd);
        const gas = await gasPerJob(world, world.pairs.slice(0, size), flow);
        put(`job, ${flow}`, size, gas.total);
        if (flow === "shared") continue;
        put(flow === "authorized" ? "lockAuthorized" : "lock", size, gas.lock);
        if (flow === "authorized") continue;
        if (flow === "acknowledged") put("acknowledge by its gateway", size, gas.acknowledge);
        put(flow === "fused" ? "complete from Locked" : "complete from Acknowledged", size, gas.complete);
      }
    });
  }

  it("of a whole job that earns its operator a part of the fee", async () => {
    for (const size of SIZES) {
      const world = await freshly(deployEarningCrowd);
      const gas = await gasPerJob(world, world.pairs.slice(0, size), "fused");
      put("job, fused, operator earns", size, gas.total);
    }
  });

  it("of single calls", async () => {
    for (const [name, gas] of Object.entries(await gasOfOperations(await freshWorld()))) put(name, 1, gas);
    for (const [name, gas] of Object.entries(await gasOfDisputes(await freshWorld()))) put(name, 1, gas);
    for (const [name, gas] of Object.entries(await gasOfEarnings(await withShare(freshWorld())))) put(name, 1, gas);
  });

  for (const ending of Object.keys(endings) as Ending[]) {
    it(`of ${ending} in batches`, async () => {
      for (const size of [8, 32, 64]) {
        const world = await freshly(deployCrowd);
        put(ending, size, await gasPerEnding(world, world.pairs.slice(0, size), ending));
      }
    });
  }

  it("of the dearest item is covered one and a half times by its floor", async () => {
    const world = await withShare(freshHostileWorld());
    const worst = await gasOfWorstCase(world);
    for (const [name, gas] of Object.entries(worst)) put(name, 1, gas);
    const floor = Number(await world.escrow.ITEM_GAS());
    expect(floor).to.be.greaterThan(1.5 * Math.max(...Object.values(worst)));
  });

  it("is what was committed (`npm run gas` measures and commits it anew)", () => {
    if (process.env["UPDATE_GAS"]) {
      writePage(table);
      console.log(page(table));
    }
    const committed = tableOf(readPage());
    expect(differences(table, committed)).to.deep.equal([]);
    expect(readPage()).to.equal(page(committed));
  });

  it("of a whole job stays within its budget", () => {
    expect(table["job, fused"]?.[32]).to.be.at.most(78_000);
    expect(table["job, fused"]?.[1]).to.be.at.most(151_000);
    expect(table["job, fused, operator earns"]?.[32]).to.be.at.most(79_000);
    expect(table["job, authorized"]?.[32]).to.be.at.most(90_000);
    expect(table["job, shared"]?.[32]).to.be.at.most(90_000);
    expect(table["job, acknowledged"]?.[32]).to.be.at.most(98_000);
  });
});
