/**
 * Who gains and loses what in a dispute: by its ending, by where the money was, by who opened it, and by the operator's
 * reserve.
 */
import { expect } from "chai";
import { type Books, books, moved } from "../support/books.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import {
  CHARGE_UNITS,
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { eventsOf, expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve, rich } from "../support/fresh.ts";
import { type Job, lockJob, provenJob, sendFinalize } from "../support/jobs.ts";
import { stakeTermsInForce, topUp } from "../support/stake.ts";
import {
  buyCredits,
  CLIENT_CREDITS,
  fundReserve,
  OPERATOR,
  OTHER_OPERATOR,
  provide,
  RESERVE_CREDITS,
  STAKE_UNIT,
  type World,
} from "../support/world.ts";

/** 500 SVC, in stake units. */
const SLASH = 500_000_000n;
const BOND_UNITS = 600_000n;

type Ending = (world: World, job: DisputedJob) => ReturnType<typeof sendRuling>;
/** What moves; of the operator's reserve, too. */
type Change = Partial<Books> & { reserve?: bigint };
/** @property told Ruling and status, as the event names them. */
type Row = { name: string; end: Ending; told: [number, number]; change: Change; reserve?: number };
const ruled =
  (ruling: number): Ending =>
  (world, job) =>
    sendRuling(world, job, ruling);

/** Settled: the client paid 60 credits; 54 went to the worker, 6 to the treasury. What moves from there. */
const settledRows: Row[] = [
  {
    name: "worker at fault: the treasury refunds the charge and has the slash",
    told: [Ruling.WorkerAtFault, 6],
    end: ruled(Ruling.WorkerAtFault),
    change: { free: 60n, treasury: -600_000n, escrow: 600_000n, stake: -SLASH },
  },
  {
    name: "gateway at fault: the operator refunds the charge, the worker keeps its pay and its stake",
    told: [Ruling.GatewayAtFault, 6],
    end: ruled(Ruling.GatewayAtFault),
    change: { free: 60n, reserve: -60n },
    reserve: 60,
  },
  { name: "rejected: the charge stands", told: [Ruling.Rejected, 4], end: ruled(Ruling.Rejected), change: {} },
  {
    name: "expired: the charge stands and the fee comes back",
    told: [Ruling.None, 4],
    end: sendExpire,
    change: { free: 6n, treasury: -60_000n, escrow: 60_000n },
  },
];

/** Proven: 80 credits in escrow, of which the proof charges 60. */
const provenRows: Row[] = [
  {
    name: "worker at fault: the escrow returns, the treasury has the slash",
    told: [Ruling.WorkerAtFault, 6],
    end: ruled(Ruling.WorkerAtFault),
    change: { free: 80n, escrowed: -80n, stake: -SLASH },
  },
  {
    name: "gateway at fault: the escrow returns, the operator pays worker and fee",
    told: [Ruling.GatewayAtFault, 6],
    end: ruled(Ruling.GatewayAtFault),
    change: { free: 80n, escrowed: -80n, reserve: -60n, worker: 540_000n, treasury: 60_000n, escrow: -600_000n },
    reserve: 60,
  },
  {
    name: "rejected: finalized at once, as if nobody had disputed",
    told: [Ruling.Rejected, 3],
    end: async (world, job) => {
      const ruling = await sendRuling(world, job, Ruling.Rejected);
      await sendFinalize(world, job);
      return ruling;
    },
    change: { free: 20n, escrowed: -80n, worker: 540_000n, treasury: 60_000n, escrow: -600_000n },
  },
  {
    name: "expired: the escrow returns in full",
    told: [Ruling.None, 6],
    end: sendExpire,
    change: { free: 80n, escrowed: -80n },
  },
];

const tables = [
  { from: "settled", enter: settledJob, rows: settledRows, operatorBond: 0n },
  { from: "proven", enter: (world: World) => provenJob(world), rows: provenRows, operatorBond: 60n },
] as const;

/** With the loss of the wallet's bond to the treasury. */
function withWalletsBond(change: Change): Change {
  const { free = 0n, treasury = 0n, escrow = 0n } = change;
  return { ...change, free: free - 60n, treasury: treasury + BOND_UNITS, escrow: escrow - BOND_UNITS };
}

/** With the loss of the operator's bond to the worker. */
function withOperatorsBond(change: Change): Change {
  const { worker = 0n, escrow = 0n } = change;
  return { ...change, reserve: -60n, worker: worker + 600_000n, escrow: escrow - 600_000n };
}

async function standing(world: World): Promise<{ books: Books; reserve: bigint; held: bigint }> {
  const { reserve, held } = await world.escrow.operatorOf(OPERATOR);
  return { books: await books(world), reserve, held };
}
type Standing = Awaited<ReturnType<typeof standing>>;

function changed(before: Standing, after: Standing): Change {
  const reserve = after.reserve - before.reserve;
  return { ...moved(before.books, after.books), ...(reserve === 0n ? {} : { reserve }) };
}

for (const { from, enter, rows, operatorBond } of tables) {
  for (const party of ["gateway", "client"] as const) {
    describe(`The dispute of a ${from} job, opened by the ${party === "gateway" ? "operator" : "wallet"}`, () => {
      for (const { name, end, told, change, reserve: credits = 1_000 } of rows) {
        // The operator's dispute of a proven job needs its bond.
        if (party === "gateway" && BigInt(credits) < operatorBond) continue;
        it(name, async () => {
          const { world, escrow, token, svc, treasury, client } = await rich(freshWorldWithoutReserve());
          if (credits !== 0) await fundReserve(world, credits);
          const job = await enter(world);
          const [before, supply] = [await standing(world), await token.totalSupply()];

          await sendDispute(world, job, { by: world[party] });
          const opened = await standing(world);
          const byWallet = party === "client";
          const bond: Change = byWallet ? { free: -60n, escrowed: 60n } : {};
          if (!byWallet && operatorBond !== 0n) bond.reserve = -operatorBond;
          expect(changed(before, opened), "the opening moves the bond and nothing else").to.deep.equal(bond);
          expect(opened.held).to.equal(byWallet ? 0n : operatorBond);

          const { ruleFrom } = await escrow.disputeOf(job.id);
          const ending = end(world, { ...job, openedAt: await now(), ruleFrom: Number(ruleFrom) });
          const [resolved] = await eventsOf(ending, escrow, "DisputeResolved");
          const after = await standing(world);
          const rejected = name.startsWith("rejected");
          const [walletsBond, inEscrow] = [byWallet ? 60n : 0n, from === "proven" ? 80n : 0n];
          const returned = rejected ? 0n : walletsBond + inEscrow;
          const account = [opened.books.free + returned, rejected ? inEscrow : 0n];
          const event = [job.id, client.address, ...told.map(BigInt), returned, ...account];
          expect([...(resolved?.args ?? [])]).to.deep.equal(event);
          let expected: Change = change;
          if (rejected && byWallet) expected = withWalletsBond(change);
          if (rejected && !byWallet && operatorBond !== 0n) expected = withOperatorsBond(change);
          expect(changed(before, after)).to.deep.equal(expected);
          expect(after.held).to.equal(0n);
          expect(await svc.balanceOf(treasury)).to.equal(-(change.stake ?? 0n) * STAKE_UNIT);
          expect((await escrow.accountOf(client.address)).openDisputes).to.equal(0);
          // Nothing is made or lost on the way.
          expect(await token.totalSupply()).to.equal(supply);
        });
      }
    });
  }
}

// A gateway at fault is paid for by its operator's reserve first; what that does not cover, by the treasury.

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
        // No more than the fee that the job brought: no cap counts it.
        compensated: rest === 0n ? [] : [[...who, rest * 10_000n, 0n, rest > 6n, FREE, 0n]],
      });
      const byTreasury = rest === 0n ? {} : { treasury: -rest * 10_000n, escrow: rest * 10_000n };
      expect(moved(before, await books(world))).to.deep.equal({ free: 120n, escrowed: -60n, ...byTreasury });
      expect(await escrow.compensationOf(job.id)).to.deep.equal([rest * 10_000n, rest * 10_000n, false]);
      expect(await reserveOf(world, OPERATOR)).to.deep.equal([BigInt(reserve - pays), 0n]);
      expect(await reserveOf(world, OTHER_OPERATOR)).to.deep.equal([1_000n, 0n]);
    });

    it(`costs it ${pays} of the pay for a proven job, and the treasury ${rest}`, async () => {
      const world = await withReserve(reserve);
      const { escrow, client, worker } = world;
      const job = await disputedProvenJob(world, { by: client });
      const before = await books(world);
      const told = await payments(world, sendRuling(world, job, Ruling.GatewayAtFault));
      const who = [job.id, client.address, worker.payout];
      expect(told.charged).to.deep.equal(pays === 0 ? [] : [[...who, charged, FREE, 0n]]);
      expect(told.compensated).to.deep.equal(rest === 0n ? [] : [[...who, rest * 9_000n, 0n, true, FREE, 0n]]);
      const change = moved(before, await books(world));
      const treasury = charged * 1_000n - rest * 9_000n;
      expect(change).to.deep.equal({
        free: 140n,
        escrowed: -140n,
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

  it("for the dispute is back before the worker is paid, and pays once lost", async () => {
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

it("The operator's reserve pays while it is stopped or its withdrawal announced", async () => {
  const { world, escrow, guardian, operatorAdmin } = await freshWorld();
  const job = await disputedJob(world);
  await escrow.connect(guardian).stopOperator(OPERATOR, true);
  await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, RESERVE_CREDITS);
  await expect(sendRuling(world, job, Ruling.GatewayAtFault)).to.emit(escrow, "OperatorCharged");
});

// What a client gets when the slash could not take its whole amount: the job's fee, no more.

/** Stake units. A worker stands with 1,000 SVC; the slash takes a millionth more than half of it. */
const MINIMUM = 1_000_000_000n;
const HIGH_SLASH = 500_000_001n;

/** Two charged jobs of one worker. The first one's slash and a new payment leave `missing` less than the second slash takes. */
async function slashedOnce(missing: bigint, party: "gateway" | "client" = "gateway") {
  const world = await withSlash(HIGH_SLASH);
  const first = await disputedJob(world);
  const second = await disputedJob(world, { by: world[party] });
  await sendRuling(world, first, Ruling.WorkerAtFault);
  await topUp(world, 2n - missing);
  expect((await world.registry.workerAt(world.worker.id)).stake).to.equal(HIGH_SLASH - missing);
  return { world, second };
}

async function withSlash(slash: bigint): Promise<World> {
  const world = await rich(freshWorld());
  await stakeTermsInForce(world, MINIMUM, slash);
  return world;
}

async function movedBy(world: World, action: () => Promise<unknown>): Promise<Partial<Books>> {
  const before = await books(world);
  await action();
  return moved(before, await books(world));
}

describe("A ruling against a worker with little stake", () => {
  it("refunds in full when exactly the slash is left", async () => {
    const { world, second } = await slashedOnce(0n);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 60n,
      treasury: -600_000n,
      escrow: 600_000n,
      stake: -HIGH_SLASH,
    });
    expect(await world.registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), true]);
  });

  it("refunds the fee when a millionth of an SVC is missing, and takes what there is", async () => {
    const { world, second } = await slashedOnce(1n);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 6n,
      treasury: -60_000n,
      escrow: 60_000n,
      stake: 1n - HIGH_SLASH,
    });
    expect(await world.registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), false]);
    expect((await world.escrow.jobOf(second.id)).status).to.equal(6);
  });
});

// An account near 2^40 - 1 credits: what comes back to it is never cut or lost, and what is in escrow always finds room to return.

const MOST = 2n ** 40n - 1n;

/** The client has `room` credits less than an account can hold, free and escrowed ones together, of which 80 are a job's escrow. */
async function almostFull(world: World, room: bigint): Promise<Job> {
  const { escrow, client } = world;
  const open = await lockJob(world);
  const { free, escrowed } = await escrow.accountOf(client.address);
  expect(escrowed).to.equal(80);
  await buyCredits(world, client, Number(MOST - room - free - escrowed));
  return open;
}

const balances = async ({ escrow, client }: World) => {
  const { free, escrowed } = await escrow.accountOf(client.address);
  return { free, escrowed, waiting: await escrow.claimableOf(client.address) };
};

describe("A compensation to an account that is almost full, with a job in escrow", () => {
  for (const [room, credits] of [
    [60n, 60n],
    [59n, 59n],
    [10n, 10n],
    [0n, 0n],
  ] as const) {
    it(`becomes ${credits} credits with room for ${room}, and tokens for the rest`, async () => {
      const { world, escrow, token, treasury, stranger } = await freshWorldWithoutReserve();
      await token.mint(treasury, CHARGE_UNITS);
      const job = await disputedJob(world);
      const open = await almostFull(world, room);
      await sendRuling(world, job, Ruling.GatewayAtFault);
      const waiting = CHARGE_UNITS - credits * 10_000n;
      expect(await balances(world)).to.deep.equal({ free: MOST - 80n - room + credits, escrowed: 80n, waiting });
      // The escrow still finds room to return.
      await nextBlockAt(open.lockedAt + 150);
      await escrow.connect(stranger).refund(open.id);
      expect(await balances(world)).to.deep.equal({ free: MOST - room + credits, escrowed: 0n, waiting });
      await books(world);
    });
  }

  it("comes from the operator as far as there is room; the rest waits as tokens", async () => {
    const { world, escrow, client, token, treasury } = await freshWorld();
    await token.mint(treasury, CHARGE_UNITS);
    const job = await disputedJob(world);
    await almostFull(world, 25n);
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "OperatorCharged")
      .withArgs(job.id, client.address, client.address, 25, MOST - 80n, 80);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 350_000, 0, true, MOST - 80n, 80);
    expect(await balances(world)).to.deep.equal({ free: MOST - 80n, escrowed: 80n, waiting: 350_000n });
    expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(RESERVE_CREDITS - 25);
    await books(world);
  });

  it("of a fee waits as tokens, too", async () => {
    const world = await freshWorld();
    const job = await settledJob(world);
    await almostFull(world, 0n);
    await sendEquivocation(world, job);
    expect(await balances(world)).to.deep.equal({ free: MOST - 80n, escrowed: 80n, waiting: 60_000n });
    await books(world);
  });
});

it("A deposit fills an account to its last credit, escrowed ones counted", async () => {
  const { world, escrow, client, token } = await freshWorld();
  await almostFull(world, 100n);
  await provide(world, client, 10_000_000n);
  await expectRevert(escrow.connect(client).deposit(101, 0), "SafeCastOverflowedUintDowncast", 40, MOST + 1n);
  await expectTokens(escrow.connect(client).deposit(100, 0), token, client, -1_000_000n);
  expect((await balances(world)).free).to.equal(MOST - 80n);
});
