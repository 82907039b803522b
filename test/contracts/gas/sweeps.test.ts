/** Whoever sends a call chooses its gas: too little must never turn a payment into a refusal, or half of a ruling into a whole one. */
import { mineAt } from "../support/chain.ts";
import {
  disputedJob,
  disputedProvenJob,
  OTHER_HASH,
  provenJob,
  Ruling,
  sendRuling,
  sendVote,
  settledJob,
} from "../support/disputes.ts";
import { freshHostileWorld, freshHostileWorldWithoutReserve } from "../support/fresh.ts";
import { Behaviour, type HostileWorld } from "../support/hostile.ts";
import { completeArgs, completionOf, type Job, lockJob } from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import { type Call, expectAllOrNothing } from "./sweep.ts";

const DAY = 86_400;

/** A treasury that can pay, and a reserve where it is the operator that pays. */
async function rich(reserve: boolean): Promise<HostileWorld> {
  const world = await (reserve ? freshHostileWorld() : freshHostileWorldWithoutReserve());
  await world.hostile.mint(world.treasury, 10_000_000n);
  return world;
}

async function onEscrow(world: HostileWorld, from: Call["from"], data: string): Promise<Call> {
  return { from, to: await world.escrow.getAddress(), data };
}

/** The second vote, which rules. */
async function ruling(world: HostileWorld, job: Job, how: number): Promise<Call> {
  await sendVote(world, job, how, world.arbiters[0]);
  const data = world.panel.interface.encodeFunctionData("vote", [job.id, how]);
  return { from: world.arbiters[1] as Call["from"], to: await world.panel.getAddress(), data };
}

async function equivocation(world: HostileWorld, job: Job): Promise<string> {
  const [first, second] = [completionOf(job), completionOf(job, { proofHash: OTHER_HASH })];
  const sign = (completion: typeof first) => signCompletion(world.escrow, world.worker.key, completion);
  const args = [first, await sign(first), second, await sign(second)] as const;
  return world.escrow.interface.encodeFunctionData("proveEquivocation", [...args]);
}

type Case = { name: string; most: number; reserve?: true; prepare: (world: HostileWorld) => Promise<Call> };

const cases: Case[] = [
  {
    name: "complete",
    most: 480_000,
    prepare: async (world) => {
      const job = await lockJob(world);
      const data = world.escrow.interface.encodeFunctionData("complete", [...(await completeArgs(world, job))]);
      return await onEscrow(world, world.gateway, data);
    },
  },
  {
    name: "finalize",
    most: 480_000,
    prepare: async (world) => {
      const job = await provenJob(world);
      await mineAt(job.finalizeFrom);
      const data = world.escrow.interface.encodeFunctionData("finalize", [completionOf(job)]);
      return await onEscrow(world, world.stranger, data);
    },
  },
  {
    name: "a ruling against the worker",
    most: 600_000,
    prepare: async (world) => {
      const job = await disputedJob(world, { by: world.client });
      return await ruling(world, job, Ruling.WorkerAtFault);
    },
  },
  {
    name: "a ruling against the gateway of a proven job, paid by the treasury",
    most: 700_000,
    prepare: async (world) => {
      const job = await disputedProvenJob(world, { by: world.client });
      return await ruling(world, job, Ruling.GatewayAtFault);
    },
  },
  {
    name: "a ruling against the gateway of a settled job, paid by the reserve",
    most: 500_000,
    reserve: true,
    prepare: async (world) => {
      const job = await disputedJob(world, { by: world.client });
      return await ruling(world, job, Ruling.GatewayAtFault);
    },
  },
  {
    name: "a ruling against the gateway of a proven job, paid by the reserve",
    most: 700_000,
    reserve: true,
    prepare: async (world) => {
      const job = await disputedProvenJob(world, { by: world.client });
      return await ruling(world, job, Ruling.GatewayAtFault);
    },
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
    prepare: async (world) => {
      const job = await disputedJob(world, { by: world.client });
      return await ruling(world, job, Ruling.Rejected);
    },
  },
  {
    name: "expire",
    most: 500_000,
    prepare: async (world) => {
      const job = await disputedJob(world);
      await mineAt(job.openedAt + DAY);
      const data = world.escrow.interface.encodeFunctionData("expire", [job.id]);
      return await onEscrow(world, world.stranger, data);
    },
  },
  {
    name: "proveEquivocation",
    most: 650_000,
    prepare: async (world) => {
      const job = await settledJob(world);
      return await onEscrow(world, world.stranger, await equivocation(world, job));
    },
  },
  {
    name: "proveEquivocation in a dispute",
    most: 650_000,
    prepare: async (world) => {
      const job = await disputedJob(world, { by: world.client });
      return await onEscrow(world, world.stranger, await equivocation(world, job));
    },
  },
  {
    name: "collectDebt for a worker",
    most: 600_000,
    prepare: async (world) => {
      const { escrow, hostile } = world;
      const job = await disputedProvenJob(world, { by: world.client });
      await hostile.setBehaviour(escrow, Behaviour.Revert);
      await sendRuling(world, job, Ruling.GatewayAtFault);
      await hostile.setBehaviour(escrow, Behaviour.Standard);
      const data = escrow.interface.encodeFunctionData("collectDebt", [job.id]);
      return await onEscrow(world, world.stranger, data);
    },
  },
];

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
  ["a compensation that burns its gas", ({ hostile, escrow }) => hostile.setBehaviour(escrow, Behaviour.BurnGas)],
];

for (const { name, most, reserve = false, prepare } of cases) {
  describe(`Gas of ${name}`, () => {
    for (const [token, spoil] of tokens) {
      // A debt is collected when the compensation goes through.
      if (name.startsWith("collectDebt") && token.startsWith("a compensation")) continue;
      it(`gives all or nothing with ${token}`, async () => {
        const world = await rich(reserve);
        const call = await prepare(world);
        await spoil(world);
        await expectAllOrNothing(call, { to: most });
      });
    }
  });
}
