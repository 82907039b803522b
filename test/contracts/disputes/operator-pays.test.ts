/** A gateway at fault is paid for by its operator's reserve first; what that does not cover, by the treasury. */
import { expect } from "chai";
import { books, moved } from "../support/books.ts";
import { CHARGE_UNITS, disputedJob, disputedProvenJob, FEE_UNITS, Ruling, sendRuling } from "../support/disputes.ts";
import { eventsOf } from "../support/events.ts";
import { freshWorld, freshWorldWithoutReserve, rich } from "../support/fresh.ts";
import {
  CLIENT_CREDITS,
  fundReserve,
  OPERATOR,
  OTHER_OPERATOR,
  RESERVE_CREDITS,
  type World,
} from "../support/world.ts";

/** The first operator has this reserve, the other one plenty. */
async function withReserve(reserve: number): Promise<World> {
  const world = await rich(freshWorldWithoutReserve());
  await fundReserve(world, 1_000, OTHER_OPERATOR);
  if (reserve > 0) await fundReserve(world, reserve);
  return world;
}

async function reserveOf({ escrow }: World, operator: number): Promise<[bigint, bigint]> {
  const { reserve, held } = await escrow.operatorOf(operator);
  return [reserve, held];
}

const FREE = BigInt(CLIENT_CREDITS);

/** What the events of a ruling say was paid. */
async function payments({ escrow }: World, ruling: ReturnType<typeof sendRuling>) {
  const told = async (name: string) => (await eventsOf(ruling, escrow, name)).map(({ args }) => [...args]);
  return {
    charged: await told("OperatorCharged"),
    reserve: await told("ReserveChanged"),
    compensated: await told("Compensated"),
  };
}

for (const [reserve, pays] of [
  [0, 0],
  [1, 1],
  [25, 25],
  [59, 59],
  [60, 60],
  [61, 60],
] as const) {
  const rest = BigInt(60 - pays);
  const charged = BigInt(pays);

  describe(`A gateway at fault whose operator has ${reserve} credits in reserve`, () => {
    it(`costs it ${pays} of the charge of a settled job, and the treasury ${rest}`, async () => {
      const world = await withReserve(reserve);
      const { escrow, client } = world;
      const job = await disputedJob(world, { by: client });
      const before = await books(world);
      const told = await payments(world, sendRuling(world, job, Ruling.GatewayAtFault));
      const who = [job.id, client.address, client.address];
      expect(told).to.deep.equal({
        charged: pays === 0 ? [] : [[...who, charged, FREE - 60n + charged, 0n]],
        reserve: pays === 0 ? [] : [[BigInt(OPERATOR), job.id, 4n, BigInt(reserve - pays), 0n]],
        compensated: rest === 0n ? [] : [[...who, rest * 10_000n, 0n, FREE, 0n]],
      });
      const byTreasury = rest === 0n ? {} : { treasury: -rest * 10_000n, escrow: rest * 10_000n };
      expect(moved(before, await books(world))).to.deep.equal({ free: 160n, escrowed: -100n, ...byTreasury });
      expect(await escrow.compensationOf(job.id)).to.deep.equal([rest * 10_000n, rest * 10_000n, false]);
      expect(await reserveOf(world, OPERATOR)).to.deep.equal([BigInt(reserve - pays), 0n]);
      expect(await reserveOf(world, OTHER_OPERATOR)).to.deep.equal([1_000n, 0n]);
    });

    it(`costs it ${pays} of the worker's pay for a proven job, fee included, and the treasury the worker's share of ${rest}`, async () => {
      const world = await withReserve(reserve);
      const { escrow, client, worker } = world;
      const job = await disputedProvenJob(world, { by: client });
      const before = await books(world);
      const told = await payments(world, sendRuling(world, job, Ruling.GatewayAtFault));
      const who = [job.id, client.address, worker.payout];
      expect(told.charged).to.deep.equal(pays === 0 ? [] : [[...who, charged, FREE, 0n]]);
      expect(told.compensated).to.deep.equal(rest === 0n ? [] : [[...who, rest * 9_000n, 0n, FREE, 0n]]);
      const change = moved(before, await books(world));
      const treasury = charged * 1_000n - rest * 9_000n;
      expect(change).to.deep.equal({
        free: 180n,
        escrowed: -180n,
        worker: 540_000n,
        treasury,
        ...(pays === 0 ? {} : { escrow: -charged * 10_000n }),
      });
      expect(await escrow.compensationOf(job.id)).to.deep.equal([rest * 9_000n, rest * 9_000n, rest !== 0n]);
      expect(await reserveOf(world, OPERATOR)).to.deep.equal([BigInt(reserve - pays), 0n]);
      expect(await reserveOf(world, OTHER_OPERATOR)).to.deep.equal([1_000n, 0n]);
    });
  });
}

describe("A reserve that is held for other disputes", () => {
  it("does not pay: what is at hand does, then the treasury", async () => {
    const world = await withReserve(70);
    const { escrow, client } = world;
    await disputedProvenJob(world);
    const job = await disputedJob(world, { by: client });
    await sendRuling(world, job, Ruling.GatewayAtFault);
    expect(await reserveOf(world, OPERATOR)).to.deep.equal([0n, 60n]);
    expect((await escrow.compensationOf(job.id)).paid).to.equal(500_000);
  });

  it("for the dispute itself pays once that is lost: the bond is back before the worker is paid", async () => {
    const world = await withReserve(60);
    const { escrow, worker, token } = world;
    const job = await disputedProvenJob(world);
    expect(await reserveOf(world, OPERATOR)).to.deep.equal([0n, 60n]);
    const ruling = await sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling).not.to.emit(escrow, "Compensated");
    expect(await reserveOf(world, OPERATOR)).to.deep.equal([0n, 0n]);
    expect(await token.balanceOf(worker.payout)).to.equal(CHARGE_UNITS - FEE_UNITS);
  });
});

describe("The operator's reserve", () => {
  it("pays while its operator is stopped and while its withdrawal is announced", async () => {
    const { world, escrow, guardian, operatorAdmin } = await freshWorld();
    const job = await disputedJob(world);
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, RESERVE_CREDITS);
    await expect(sendRuling(world, job, Ruling.GatewayAtFault)).to.emit(escrow, "OperatorCharged");
  });
});
