/** Whoever sends a call chooses its gas: too little must never turn a payment into a refusal, or half of a ruling into a whole one. */
import { items } from "../support/batch.ts";
import { DAY, mineAt } from "../support/chain.ts";
import { disputedJob, disputedProvenJob, Ruling, sendRuling, sendVote, settledJob } from "../support/disputes.ts";
import { withShare } from "../support/earnings.ts";
import { freshHostileWorld, freshHostileWorldWithoutReserve, rich } from "../support/fresh.ts";
import { Behaviour, type HostileWorld } from "../support/hostile.ts";
import { type Job, lockJob, provenJob } from "../support/jobs.ts";
import { type Call, expectAllOrNothing } from "./sweep.ts";

async function onEscrow(world: HostileWorld, from: Call["from"], data: string | Promise<string>): Promise<Call> {
  return { from, to: world.escrow, data: await data };
}

/** The second vote, which rules. */
async function ruling(world: HostileWorld, job: Job, how: number): Promise<Call> {
  await sendVote(world, job, how, world.arbiters[0]);
  const data = world.panel.interface.encodeFunctionData("vote", [job.id, how]);
  return { from: world.arbiters[1] as Call["from"], to: world.panel, data };
}

const byWallet = (world: HostileWorld) => ({ by: world.client });

/** @property compensates The treasury pays a compensation. */
type Case = {
  name: string;
  most: number;
  reserve?: true;
  compensates?: true;
  prepare: (world: HostileWorld) => Promise<Call>;
};

const cases: Case[] = [
  {
    name: "complete",
    most: 480_000,
    prepare: async (world) => onEscrow(world, world.gateway, items(world).complete(await lockJob(world))),
  },
  {
    name: "finalize",
    most: 480_000,
    prepare: async (world) => {
      const job = await provenJob(world);
      await mineAt(job.finalizeFrom);
      return await onEscrow(world, world.stranger, items(world).finalize(job));
    },
  },
  {
    name: "a ruling against the worker",
    most: 600_000,
    compensates: true,
    prepare: async (world) => ruling(world, await disputedJob(world, byWallet(world)), Ruling.WorkerAtFault),
  },
  {
    name: "a ruling against the gateway of a proven job, paid by the treasury",
    most: 700_000,
    compensates: true,
    prepare: async (world) => ruling(world, await disputedProvenJob(world, byWallet(world)), Ruling.GatewayAtFault),
  },
  {
    name: "a ruling against the gateway of a settled job, paid by the reserve",
    most: 500_000,
    reserve: true,
    prepare: async (world) => ruling(world, await disputedJob(world, byWallet(world)), Ruling.GatewayAtFault),
  },
  {
    name: "a ruling against the gateway of a proven job, paid by the reserve",
    most: 700_000,
    reserve: true,
    prepare: async (world) => ruling(world, await disputedProvenJob(world, byWallet(world)), Ruling.GatewayAtFault),
  },
  {
    name: "a rejection of the operator's dispute",
    most: 500_000,
    reserve: true,
    prepare: async (world) => {
      const job = await disputedProvenJob(world);
      await mineAt(job.ruleFrom);
      return await ruling(world, job, Ruling.Rejected);
    },
  },
  {
    name: "a rejection of the wallet's dispute",
    most: 500_000,
    prepare: async (world) => ruling(world, await disputedJob(world, byWallet(world)), Ruling.Rejected),
  },
  {
    name: "expire",
    most: 500_000,
    compensates: true,
    prepare: async (world) => {
      const job = await disputedJob(world);
      await mineAt(job.openedAt + DAY);
      return await onEscrow(world, world.stranger, items(world).expire(job));
    },
  },
  {
    name: "expire where the operator had earned",
    most: 700_000,
    compensates: true,
    prepare: async (fresh) => {
      const world = await withShare(Promise.resolve(fresh));
      const job = await disputedJob(world);
      await mineAt(job.openedAt + DAY);
      return await onEscrow(world, world.stranger, items(world).expire(job));
    },
  },
  {
    name: "proveEquivocation",
    most: 650_000,
    compensates: true,
    prepare: async (world) => onEscrow(world, world.stranger, items(world).proveEquivocation(await settledJob(world))),
  },
  {
    name: "proveEquivocation in a dispute",
    most: 650_000,
    compensates: true,
    prepare: async (world) => {
      const job = await disputedJob(world, byWallet(world));
      return await onEscrow(world, world.stranger, items(world).proveEquivocation(job));
    },
  },
  {
    name: "collectDebt for a worker",
    most: 600_000,
    prepare: async (world) => {
      const { escrow, hostile } = world;
      const job = await disputedProvenJob(world, byWallet(world));
      await hostile.setBehaviour(escrow, Behaviour.Revert);
      await sendRuling(world, job, Ruling.GatewayAtFault);
      await hostile.setBehaviour(escrow, Behaviour.Standard);
      return await onEscrow(world, world.stranger, items(world).collectDebt(job));
    },
  },
];

const compensationBurns = ({ hostile, escrow }: HostileWorld) => hostile.setBehaviour(escrow, Behaviour.BurnGas);
/** Who burns all the gas it gets: nobody, the payees, the treasury's own payment. */
const tokens: [string, (world: HostileWorld) => Promise<unknown>][] = [
  ["an honest token", async () => undefined],
  [
    "payees that burn their gas",
    async ({ hostile, worker, treasury }) => {
      await hostile.setBehaviour(worker.payout, Behaviour.BurnGas);
      await hostile.setBehaviour(treasury, Behaviour.BurnGas);
    },
  ],
  ["a compensation that burns its gas", compensationBurns],
];

for (const { name, most, reserve = false, compensates = false, prepare } of cases) {
  describe(`Gas of ${name}`, () => {
    for (const [token, spoil] of tokens) {
      if (spoil === compensationBurns && !compensates) continue;
      it(`gives all or nothing with ${token}`, async () => {
        // A treasury that can pay, and a reserve where it is the operator that pays.
        const world = await rich(reserve ? freshHostileWorld() : freshHostileWorldWithoutReserve());
        const call = await prepare(world);
        await spoil(world);
        await expectAllOrNothing(call, { to: most });
      });
    }
  });
}
