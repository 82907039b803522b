/**
 * Nobody of the service is asked: a client, a worker's owner, arbiters and strangers with an ABI, a node and their own keys.
 * The windows are those of a real deployment; the node's clock is moved.
 */
import { type Address, encodeFunctionData, type Hex, keccak256, parseEventLogs, toBytes } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { MODEL, type Protocol, people, Ruling, startProtocol, workerKey } from "./support/protocol.ts";

const DAY = 86_400;
/** 500 SVC: what a slash takes. */
const SLASH = 500_000_000n;
/** A job of 100 tokens on a standard model: 8 credits at 10 %. */
const CHARGE = 80_000n;
const FEE = 8_000n;

let p: Protocol;
let treasury: Address;
beforeAll(async () => {
  p = await startProtocol();
  treasury = p.chain.deployment.contracts.ProtocolTreasury;
  // What fees of earlier days have left there: 10 stablecoins.
  await p.send(people.stranger, p.token, "mint", [treasury, 10_000_000n]);
});
afterAll(() => p?.stop());

const jobOf = (jobId: Hex) => p.read({ ...p.escrow, functionName: "jobOf", args: [jobId] });
const client = async () => {
  const { free, escrowed } = await p.read({ ...p.escrow, functionName: "accountOf", args: [people.client.address] });
  return { free, escrowed };
};
const claimable = () => p.read({ ...p.escrow, functionName: "claimableOf", args: [people.client.address] });
const tokens = (owner: Address) => p.read({ ...p.token, functionName: "balanceOf", args: [owner] });
const workerId = async () => (await p.read({ ...p.registry, functionName: "payeeOf", args: [workerKey.address] }))[0];
const worker = async () => p.read({ ...p.registry, functionName: "workerAt", args: [await workerId()] });
const refused = (call: Promise<unknown>) => expect(call).rejects.toThrow(/revert/);

describe("a client whose text is not the one its worker signed", () => {
  it("disputes on chain without the API, is refunded after a quorum, and the worker is slashed", async () => {
    const { jobId, completion } = await p.settle();
    const [before, staked, held] = [await client(), (await worker()).stake, await tokens(treasury)];
    await p.dispute(people.client, completion);
    expect(await client()).toEqual({ free: before.free - 100, escrowed: before.escrowed + 100 });
    expect((await jobOf(jobId)).status).toBe(ChainStatus.Disputed);

    await p.send(people.arbiters[0], p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
    expect((await jobOf(jobId)).status).toBe(ChainStatus.Disputed);
    await p.send(people.arbiters[2], p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
    expect((await jobOf(jobId)).status).toBe(ChainStatus.Refunded);
    expect(await client()).toEqual({ free: before.free + 8, escrowed: before.escrowed });
    expect((await worker()).stake).toBe(staked - SLASH);
    expect(await tokens(treasury)).toBe(held - CHARGE);
  });

  it("cannot have the ruling before the quorum, nor from a stranger, nor twice", async () => {
    const { jobId, completion } = await p.settle();
    await p.dispute(people.client, completion);
    await refused(p.send(people.stranger, p.panel, "vote", [jobId, Ruling.WorkerAtFault]));
    await refused(p.send(people.client, p.escrow, "rule", [jobId, Ruling.WorkerAtFault]));
    await p.send(people.arbiters[0], p.panel, "vote", [jobId, Ruling.Rejected]);
    await refused(p.send(people.arbiters[0], p.panel, "vote", [jobId, Ruling.Rejected]));
    const [before, held] = [await client(), await tokens(treasury)];
    await p.send(people.arbiters[1], p.panel, "vote", [jobId, Ruling.Rejected]);
    // The bond went to the treasury and the charge stands.
    expect(await client()).toEqual({ free: before.free, escrowed: before.escrowed - 100 });
    expect(await tokens(treasury)).toBe(held + 1_000_000n);
    expect((await jobOf(jobId)).status).toBe(ChainStatus.Settled);
    await refused(p.dispute(people.client, completion));
  });
});

describe("a gateway at fault", () => {
  it("costs the treasury the charge, and the worker nothing", async () => {
    const { jobId, completion } = await p.settle();
    const [before, staked, held] = [await client(), (await worker()).stake, await tokens(treasury)];
    await p.dispute(people.gateway, completion);
    await p.vote(jobId, Ruling.GatewayAtFault);
    expect(await client()).toEqual({ free: before.free + 8, escrowed: before.escrowed });
    expect((await worker()).stake).toBe(staked);
    expect(await tokens(treasury)).toBe(held - CHARGE);
  });

  it("that hid a proven answer: the client has its escrow back, the treasury pays the worker", async () => {
    const before = await client();
    const { jobId, completion } = await p.prove();
    const [paid, staked] = [await tokens(workerKey.address), (await worker()).stake];
    await p.dispute(people.client, completion, `0x${"00".repeat(32)}`);
    await p.vote(jobId, Ruling.GatewayAtFault);
    expect(await client()).toEqual(before);
    expect(await tokens(workerKey.address)).toBe(paid + CHARGE - FEE);
    expect((await worker()).stake).toBe(staked);
  });
});

describe("a worker that signs two answers", () => {
  it("is slashed by anyone who holds both, without a vote", async () => {
    const { jobId, completion } = await p.settle();
    const [before, staked] = [await client(), (await worker()).stake];
    const second = { ...completion, proofHash: answerHash("another answer") };
    const signatures = await Promise.all([completion, second].map((one) => p.sign(workerKey, "Completion", one)));
    const [first, other] = signatures as [{ r: Hex; vs: Hex }, { r: Hex; vs: Hex }];
    await p.send(people.stranger, p.escrow, "proveEquivocation", [completion, first, second, other]);
    expect((await worker()).stake).toBe(staked - SLASH);
    expect((await jobOf(jobId)).status).toBe(ChainStatus.Refunded);
    expect((await client()).free).toBe(before.free + 8);
    // Once a job.
    await refused(p.send(people.stranger, p.escrow, "proveEquivocation", [completion, first, second, other]));
    expect((await worker()).stake).toBe(staked - SLASH);
  });
});

// From here on the clock moves by days.
describe("arbiters that stay silent", () => {
  it("cost the protocol its fee: after 24 h, not a second before, anyone expires the dispute", async () => {
    const { jobId, completion } = await p.settle();
    const [before, deferred] = [await client(), await claimable()];
    await p.dispute(people.client, completion);
    const { lockedAt, deadline } = await jobOf(jobId);
    await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(lockedAt + deadline - 1) });
    await refused(p.send(people.stranger, p.escrow, "expire", [jobId]));
    await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(lockedAt + deadline) });
    await p.send(people.stranger, p.escrow, "expire", [jobId]);
    await refused(p.send(people.arbiters[0], p.panel, "vote", [jobId, Ruling.WorkerAtFault]));
    expect((await jobOf(jobId)).status).toBe(ChainStatus.Settled);
    // The bond is back; the fee of 0.8 credits waits as tokens, because credits are whole.
    expect(await client()).toEqual(before);
    expect(await claimable()).toBe(deferred + FEE);
    const held = await tokens(people.client.address);
    await p.send(people.stranger, p.escrow, "claim", [people.client.address]);
    expect(await tokens(people.client.address)).toBe(held + deferred + FEE);
  });
});

describe("a worker that tries to leave ahead of its slash", () => {
  it("cannot: its stake is still there at the ruling, and only the rest leaves two days later", async () => {
    const owner = people.svcHolder;
    await p.send(owner, p.svc, "approve", [p.registry.address, 10n ** 27n]);
    await p.send(owner, p.registry, "addStake", [workerKey.address, 2_000_000_000n]);
    const { jobId, completion } = await p.settle();
    await p.send(owner, p.registry, "startUnbonding", [workerKey.address]);
    const { stake, unbondsAt } = await worker();
    await refused(p.send(owner, p.registry, "withdrawStake", [workerKey.address, owner.address]));
    await p.dispute(people.client, completion);
    // It takes no new job from now on.
    const late = newJobId();
    await p.batch(people.gateway, [p.lockCall(late)]);
    const refusedItem = await p.batch(people.gateway, [await p.completeCall(await p.completionOf(late))]);
    expect(parseEventLogs({ abi: inferenceEscrowAbi, logs: refusedItem.logs })).toMatchObject([
      { eventName: "BatchItemFailed" },
    ]);

    // The last second in which the panel can rule is before the first in which the stake can leave.
    const { lockedAt, deadline } = await jobOf(jobId);
    expect(lockedAt + deadline).toBeLessThan(unbondsAt);
    await p.send(people.arbiters[0], p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
    await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(lockedAt + deadline - 1) });
    await p.send(people.arbiters[1], p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
    expect((await worker()).stake).toBe(stake - SLASH);

    await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(unbondsAt) });
    const held = await p.read({ ...p.svc, functionName: "balanceOf", args: [owner.address] });
    await p.send(owner, p.registry, "withdrawStake", [workerKey.address, owner.address]);
    const now = await p.read({ ...p.svc, functionName: "balanceOf", args: [owner.address] });
    expect(now - held).toBe((stake - SLASH) * 10n ** 12n);
  });
});

describe("the end of a model", () => {
  it("is proposed, voted, queued and executed; the id works until its date and not after", async () => {
    const holder = people.svcHolder;
    await p.send(holder, p.svc, "delegate", [holder.address]);
    await p.later(1);
    // Nobody can do it without a vote.
    const retiresAt = (await p.now()) + 30 * DAY;
    await refused(p.send(holder, p.catalog, "scheduleRetirement", [MODEL, retiresAt]));

    const data = encodeFunctionData({
      abi: p.catalog.abi,
      functionName: "scheduleRetirement",
      args: [MODEL, retiresAt],
    });
    const what = "Retire qwen3-8b";
    const proposal = [[p.catalog.address], [0n], [data], keccak256(toBytes(what))] as const;
    await p.send(holder, p.governor, "propose", [[p.catalog.address], [0n], [data], what]);
    const id = await p.read({ ...p.governor, functionName: "hashProposal", args: [...proposal] });
    await p.later(DAY + 1);
    await p.send(holder, p.governor, "castVote", [id, 1]);
    await p.later(5 * DAY);
    await p.send(people.stranger, p.governor, "queue", [...proposal]);
    await refused(p.send(people.stranger, p.governor, "execute", [...proposal]));
    await p.later(2 * DAY);
    await p.send(people.stranger, p.governor, "execute", [...proposal]);
    const { retiresAt: stored } = await p.read({ ...p.catalog, functionName: "modelAt", args: [MODEL] });
    expect(stored).toBe(retiresAt);

    const locks = async (time: number) => {
      const jobId = newJobId();
      await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(time) });
      await p.batch(people.gateway, [p.lockCall(jobId)]);
      return (await jobOf(jobId)).status === ChainStatus.Locked;
    };
    expect(await locks(retiresAt - 1)).toBe(true);
    expect(await locks(retiresAt)).toBe(false);
  });
});
