/**
 * Who gains and loses what in a dispute: by its ending, by where the money was, by who opened it, and by the operator's
 * reserve.
 */
import { expect } from "chai";
import { type Books, books, moved } from "../support/books.ts";
import { now } from "../support/chain.ts";
import { type DisputedJob, Ruling, sendDispute, sendExpire, sendRuling, settledJob } from "../support/disputes.ts";
import { eventsOf } from "../support/events.ts";
import { freshWorldWithoutReserve, rich } from "../support/fresh.ts";
import { provenJob, sendFinalize } from "../support/jobs.ts";
import { fundReserve, OPERATOR, STAKE_UNIT, type World } from "../support/world.ts";

/** 500 SVC, in stake units. */
const SLASH = 500_000_000n;
const BOND_UNITS = 1_000_000n;

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
  return { ...change, free: free - 100n, treasury: treasury + BOND_UNITS, escrow: escrow - BOND_UNITS };
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
          const bond: Change = byWallet ? { free: -100n, escrowed: 100n } : {};
          if (!byWallet && operatorBond !== 0n) bond.reserve = -operatorBond;
          expect(changed(before, opened), "the opening moves the bond and nothing else").to.deep.equal(bond);
          expect(opened.held).to.equal(byWallet ? 0n : operatorBond);

          const { ruleFrom } = await escrow.disputeOf(job.id);
          const ending = end(world, { ...job, openedAt: await now(), ruleFrom: Number(ruleFrom) });
          const [resolved] = await eventsOf(ending, escrow, "DisputeResolved");
          const after = await standing(world);
          const rejected = name.startsWith("rejected");
          const [walletsBond, inEscrow] = [byWallet ? 100n : 0n, from === "proven" ? 80n : 0n];
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
