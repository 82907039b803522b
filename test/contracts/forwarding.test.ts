/** The escrow hands calls over to DisputeLogic and OperatorLogic as they came: what the ABI forbids is still refused. */
import { expect } from "chai";
import { concat, type Hex, size, slice } from "viem";
import { items } from "./support/batch.ts";
import { ethers, mineAt, now } from "./support/chain.ts";
import { DISPUTE_KEY, disputeRequestOf, nameDisputeKey } from "./support/dispute-keys.ts";
import { ARBITRATION, disputedJob, OTHER_HASH, settledJob } from "./support/disputes.ts";
import { dayOf, LONGEST_RISK, vestsAt, withShare } from "./support/earnings.ts";
import { freshWorld } from "./support/fresh.ts";
import { signedCompletion } from "./support/jobs.ts";
import { signDisputeRequest } from "./support/sign.ts";
import { OPERATOR, provide, type World } from "./support/world.ts";

type Call = { from: string; data: Hex };

/** Each call as its sender can make it now, and the words of it that have bits beyond their type: from the left (0) or the right (31). */
const calls: [string, (world: World) => Promise<Call>, [word: number, byte: number][]][] = [
  [
    "setDisputeKey",
    async ({ escrow, client }) => ({
      from: client.address,
      data: escrow.interface.encodeFunctionData("setDisputeKey", [DISPUTE_KEY.address, 2]) as Hex,
    }),
    [
      [0, 0],
      [1, 0],
    ],
  ],
  [
    "openDispute",
    async (world) => ({
      from: world.client.address,
      data: (await items(world).openDispute(await settledJob(world))) as Hex,
    }),
    [[1, 31], ...[3, 4, 5, 6, 7].map((word): [number, number] => [word, 0])],
  ],
  [
    "disputeByKey",
    async (world) => {
      const { escrow, stranger } = world;
      await nameDisputeKey(world);
      const job = await settledJob(world);
      const request = await disputeRequestOf(world, job);
      const [completion, byWorker] = await signedCompletion(world, job);
      const byKey = await signDisputeRequest(escrow, DISPUTE_KEY, request);
      const { maxBond, expiresAt } = request;
      const args = [OTHER_HASH, completion, byWorker, maxBond, expiresAt, byKey] as const;
      return { from: stranger.address, data: escrow.interface.encodeFunctionData("disputeByKey", [...args]) as Hex };
    },
    [[1, 31], ...[3, 4, 5, 6, 7, 10, 11].map((word): [number, number] => [word, 0])],
  ],
  [
    "joinDispute",
    async (world) => ({
      from: world.client.address,
      data: items(world).joinDispute(await disputedJob(world)) as Hex,
    }),
    [[0, 31]],
  ],
  [
    "expire",
    async (world) => {
      const job = await disputedJob(world);
      await mineAt(job.openedAt + ARBITRATION);
      return { from: world.stranger.address, data: items(world).expire(job) as Hex };
    },
    [[0, 31]],
  ],
  [
    "stopOperator",
    async ({ escrow, owner }) => ({
      from: owner.address,
      data: escrow.interface.encodeFunctionData("stopOperator", [OPERATOR, true]) as Hex,
    }),
    [
      [0, 0],
      [1, 0],
    ],
  ],
  [
    "setOperatorAdmin",
    async ({ escrow, operatorAdmin, stranger }) => ({
      from: operatorAdmin.address,
      data: escrow.interface.encodeFunctionData("setOperatorAdmin", [OPERATOR, stranger.address]) as Hex,
    }),
    [
      [0, 0],
      [1, 0],
    ],
  ],
  [
    "fundReserve",
    async (world) => {
      await provide(world, world.stranger, 10_000n);
      const data = world.escrow.interface.encodeFunctionData("fundReserve", [OPERATOR, 1]) as Hex;
      return { from: world.stranger.address, data };
    },
    [
      [0, 0],
      [1, 0],
    ],
  ],
  [
    "announceReserveWithdrawal",
    async ({ escrow, operatorAdmin }) => ({
      from: operatorAdmin.address,
      data: escrow.interface.encodeFunctionData("announceReserveWithdrawal", [OPERATOR, 1]) as Hex,
    }),
    [
      [0, 0],
      [1, 0],
    ],
  ],
  [
    "withdrawReserve",
    async ({ escrow, operatorAdmin }) => {
      await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, 1);
      await mineAt((await now()) + LONGEST_RISK);
      const args = [OPERATOR, operatorAdmin.address] as const;
      return {
        from: operatorAdmin.address,
        data: escrow.interface.encodeFunctionData("withdrawReserve", [...args]) as Hex,
      };
    },
    [
      [0, 0],
      [1, 0],
    ],
  ],
  [
    "withdrawEarnings",
    async (world) => {
      const { escrow, operatorAdmin } = await withShare(Promise.resolve(world));
      const job = await settledJob(world);
      await mineAt(vestsAt(job));
      const args = [OPERATOR, dayOf(job), dayOf(job), operatorAdmin.address] as const;
      return {
        from: operatorAdmin.address,
        data: escrow.interface.encodeFunctionData("withdrawEarnings", [...args]) as Hex,
      };
    },
    [0, 1, 2, 3].map((word): [number, number] => [word, 0]),
  ],
  [
    "scheduleFee",
    async ({ escrow, owner }) => ({
      from: owner.address,
      data: escrow.interface.encodeFunctionData("scheduleFee", [1_000, 10]) as Hex,
    }),
    [
      [0, 0],
      [1, 0],
    ],
  ],
];

for (const [name, prepare, dirty] of calls) {
  it(`${name} refuses bits beyond a type and a missing byte, and takes more bytes`, async () => {
    const { world, escrow } = await freshWorld();
    const { from, data } = await prepare(world);
    const called = async (sent: Hex) => await ethers.provider.call({ to: await escrow.getAddress(), from, data: sent });
    expect(await called(data)).to.equal("0x");
    expect(await called(concat([data, `0x${"ff".repeat(64)}`]))).to.equal("0x");
    await expect(called(slice(data, 0, size(data) - 1))).to.revert(ethers);
    for (const [word, byte] of dirty) {
      const at = 4 + 32 * word + byte;
      const changed = concat([slice(data, 0, at), "0x01", ...(at + 1 < size(data) ? [slice(data, at + 1)] : [])]);
      await expect(called(changed), `word ${word}`).to.revert(ethers);
    }
  });
}
