/** The whole table of who gains and loses what, by ending, by where the money was and by who opened the dispute. */
import { expect } from "chai";
import { type Books, books, moved } from "../support/books.ts";
import { now } from "../support/chain.ts";
import {
  type DisputedJob,
  provenJob,
  Ruling,
  sendDispute,
  sendExpire,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { sendFinalize } from "../support/jobs.ts";
import { STAKE_UNIT, type World } from "../support/world.ts";

/** 500 SVC, in stake units. */
const SLASH = 500_000_000n;
const BOND_UNITS = 1_000_000n;

type Ending = (world: World, job: DisputedJob) => Promise<unknown>;
const ruled =
  (ruling: number): Ending =>
  (world, job) =>
    sendRuling(world, job, ruling);

/** Settled: the client paid 60 credits; 54 went to the worker, 6 to the treasury. What moves from there. */
const settledEndings: [string, Ending, Partial<Books>][] = [
  [
    "worker at fault: the treasury refunds the charge and has the slash",
    ruled(Ruling.WorkerAtFault),
    { free: 60n, treasury: -600_000n, escrow: 600_000n, stake: -SLASH },
  ],
  [
    "gateway at fault: the treasury refunds the charge, the worker keeps its pay and its stake",
    ruled(Ruling.GatewayAtFault),
    { free: 60n, treasury: -600_000n, escrow: 600_000n },
  ],
  ["rejected: the charge stands", ruled(Ruling.Rejected), {}],
  ["expired: the charge stands and the fee comes back", sendExpire, { free: 6n, treasury: -60_000n, escrow: 60_000n }],
];

/** Proven: 80 credits in escrow, of which the proof charges 60. */
const provenEndings: [string, Ending, Partial<Books>][] = [
  [
    "worker at fault: the escrow returns, the treasury has the slash",
    ruled(Ruling.WorkerAtFault),
    { free: 80n, escrowed: -80n, stake: -SLASH },
  ],
  [
    "gateway at fault: the escrow returns, the treasury pays the worker",
    ruled(Ruling.GatewayAtFault),
    { free: 80n, escrowed: -80n, worker: 540_000n, treasury: -540_000n },
  ],
  [
    "rejected: finalized at once, as if nobody had disputed",
    async (world, job) => {
      await sendRuling(world, job, Ruling.Rejected);
      await sendFinalize(world, job);
    },
    { free: 20n, escrowed: -80n, worker: 540_000n, treasury: 60_000n, escrow: -600_000n },
  ],
  ["expired: the escrow returns in full", sendExpire, { free: 80n, escrowed: -80n }],
];

const tables = [
  { from: "settled", enter: settledJob, endings: settledEndings },
  { from: "proven", enter: (world: World) => provenJob(world), endings: provenEndings },
] as const;

/** With the loss of the wallet's bond. */
function withBond(change: Partial<Books>): Partial<Books> {
  const { free = 0n, treasury = 0n, escrow = 0n } = change;
  return { ...change, free: free - 100n, treasury: treasury + BOND_UNITS, escrow: escrow - BOND_UNITS };
}

for (const { from, enter, endings } of tables) {
  for (const party of ["gateway", "client"] as const) {
    describe(`The dispute of a ${from} job, opened by the ${party}`, () => {
      for (const [name, end, change] of endings) {
        it(name, async () => {
          const world = await freshWorld();
          const { token, svc, treasury } = world;
          await token.mint(treasury, 10_000_000n);
          const job = await enter(world);
          const [before, supply] = [await books(world), await token.totalSupply()];

          await sendDispute(world, job, { by: world[party] });
          const opened = await books(world);
          const bond = party === "client" ? { free: -100n, escrowed: 100n } : {};
          expect(moved(before, opened), "the opening moves the bond and nothing else").to.deep.equal(bond);

          await end(world, { ...job, openedAt: await now() });
          const after = await books(world);
          const loses = party === "client" && name.startsWith("rejected");
          expect(moved(before, after)).to.deep.equal(loses ? withBond(change) : change);
          expect(await svc.balanceOf(treasury)).to.equal(-(change.stake ?? 0n) * STAKE_UNIT);
          expect((await world.escrow.accountOf(world.client.address)).openDisputes).to.equal(0);
          // Nothing is made or lost on the way.
          expect(await token.totalSupply()).to.equal(supply);
        });
      }
    });
  }
}
