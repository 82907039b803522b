/** Attacks of the audit (issue 15) on disputes: each worked on the contracts before, and what became of it. */
import { expect } from "chai";
import { concat, type Hex, keccak256, toBytes } from "viem";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { compactSignature } from "../../../protocol/messages.ts";
import { signedCompletion } from "../../../protocol/words.ts";
import { executeBatch, items } from "../support/batch.ts";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import {
  OTHER_HASH,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendJoin,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { eventsOf } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, completionOf, type Job, lockJob, sendProof } from "../support/jobs.ts";
import { NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import { CLIENT_CREDITS, OPERATOR, RESERVE_CREDITS, type World } from "../support/world.ts";

describe("Finding 1: a worker proves through a contract that inverts its calldata", () => {
  /** Proven; and the Completion, from the event alone. No calldata that anybody can read has the worker's signature. */
  async function hiddenProof() {
    const { world, escrow, worker, workerOwner } = await freshWorld();
    const job = await acknowledgedJob(world);
    const signed = completionOf(job, { proofHash: answerHash("an answer that does not exist") });
    const signature = await signCompletion(escrow, worker.key, signed);
    const call = escrow.interface.encodeFunctionData("submitProof", [signed, signature]);
    const inverter = await ethers.deployContract("Inverter", [escrow]);
    await nextBlockAt(job.lockedAt + 30);
    const forward = inverter.connect(workerOwner).fallback;
    if (!forward) throw new Error("no fallback");
    const proving = forward({ data: await inverter.inverse(call) });
    const [event] = await eventsOf(proving, escrow, "JobProven");
    const { data } = await proving;
    expect(data).not.to.include(signature.r.slice(2)).and.not.to.include(signature.vs.slice(2));
    const completion = signedCompletion(event?.args.toObject() as Parameters<typeof signedCompletion>[0]);
    return { world, job, completion };
  }

  for (const [who, party] of [
    ["wallet", "client"],
    ["operator", "gateway"],
  ] as const) {
    it(`its ${who} disputes from the JobProven event alone, and the escrow returns`, async () => {
      const { world, job, completion } = await hiddenProof();
      const { escrow, [party]: by, worker } = world;
      const opening = escrow.connect(by).openDispute(OTHER_HASH, completion, NO_SIGNATURE);
      const [opened] = await eventsOf(opening, escrow, "JobDisputed");
      expect([opened?.args.worker, opened?.args.workerHash]).to.deep.equal([worker.key.address, completion.proofHash]);
      await sendRuling(world, job, Ruling.WorkerAtFault);
      const { free, escrowed } = await escrow.accountOf(world.client.address);
      expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS), 0n]);
      expect((await world.registry.slashOf(job.id)).worker).to.equal(worker.id);
    });
  }

  it("a Completion with bits beyond its fields is no proof, signed or not", async () => {
    const { world, escrow, worker } = await freshWorld();
    const job = await acknowledgedJob(world);
    const plain = escrow.interface.encodeFunctionData("submitProof", [completionOf(job), NO_SIGNATURE]);
    const words = (plain.slice(10).match(/.{64}/g) ?? []).slice(0, 7);
    const typehash = keccak256(
      toBytes(
        "Completion(bytes16 jobId,bytes32 proofHash,uint32 promptTokens,uint32 completionTokens,uint32 reasoningTokens,uint32 textBytes,uint40 completedAt)",
      ),
    );
    for (const [field, at] of [
      ["jobId", 63],
      ["promptTokens", 0],
      ["completionTokens", 0],
      ["reasoningTokens", 0],
      ["textBytes", 0],
      ["completedAt", 0],
      [null, 0],
    ] as const) {
      const index = Object.keys(completionOf(job)).indexOf(field ?? "");
      const changed = words.map((word, i) => (i === index ? `${word.slice(0, at)}1${word.slice(at + 1)}` : word));
      const structHash = keccak256(concat([typehash, `0x${changed.join("")}`]));
      const domain = (await escrow.domainSeparator()) as Hex;
      const hash = keccak256(concat(["0x1901", domain, structHash]));
      const { r, vs } = compactSignature(await worker.key.sign({ hash }));
      const data = concat([plain.slice(0, 10) as Hex, `0x${changed.join("")}`, r, vs]);
      const proving = world.stranger.sendTransaction({ to: escrow, data });
      if (field === null) await expect(proving).to.emit(escrow, "JobProven");
      else await expect(proving, field).to.revert(ethers);
    }
  });
});

describe("Finding 3: a worker proves ten jobs with hashes of nothing", () => {
  async function captured(world: World): Promise<Job[]> {
    const jobs: Job[] = [];
    for (let i = 0; i < 10; i++) jobs.push(await acknowledgedJob(world));
    for (const [i, job] of jobs.entries()) await sendProof(world, job, { proofHash: answerHash(`nothing ${i}`) });
    return jobs;
  }
  const disputeAll = async (world: World, jobs: Job[]) => {
    for (const [i, job] of jobs.entries())
      await sendDispute(world, job, { proofHash: answerHash(`nothing ${i}`), signature: NO_SIGNATURE });
  };

  it("the operator disputes all ten with its own bonds, and no wallet pays", async () => {
    const { world, escrow, client, worker, token } = await freshWorld();
    const jobs = await captured(world);
    await disputeAll(world, jobs);
    const { reserve, held } = await escrow.operatorOf(OPERATOR);
    expect([reserve, held]).to.deep.equal([BigInt(RESERVE_CREDITS - 600), 600n]);
    expect((await escrow.accountOf(client.address)).openDisputes).to.equal(0);
    for (const job of jobs) await sendRuling(world, job, Ruling.WorkerAtFault);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS);
    expect(await token.balanceOf(worker.payout)).to.equal(0);
    expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(RESERVE_CREDITS);
  });
});

describe("Finding 4: a gateway settles and disputes with nonsense in one batch", () => {
  async function burnt() {
    const world = await freshWorld();
    const job = await lockJob(world);
    const at = (await now()) + 5;
    await nextBlockAt(at);
    const make = items(world);
    const nonsense = await make.openDispute(job, { receivedHash: answerHash("nonsense") });
    const { failures } = await executeBatch(world, world.gateway, [await make.complete(job), nonsense]);
    expect(failures).to.deep.equal([]);
    return { world, job: { ...job, settledAt: at } };
  }

  it("the wallet joins with its own hash and no bond, until its window ends", async () => {
    const { world, job } = await burnt();
    const { escrow, client } = world;
    await escrow.connect(client).withdraw((await escrow.accountOf(client.address)).free, client.address);
    await nextBlockAt(job.settledAt + 89);
    await expect(sendJoin(world, job)).to.emit(escrow, "DisputeJoined").withArgs(job.id, client.address, OTHER_HASH);
    const { joined, ruleFrom } = await escrow.disputeOf(job.id);
    expect([joined, ruleFrom]).to.deep.equal([true, BigInt(job.settledAt + 89)]);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([0n, 0n]);
    await sendRuling(world, job, Ruling.WorkerAtFault);
    expect((await escrow.jobOf(job.id)).status).to.equal(6);
  });
});

it("Finding 5: worker and client equivocate to milk the treasury", async () => {
  const { world, escrow, token, treasury, client } = await freshWorld();
  await token.mint(treasury, 100_000_000n);
  const jobs = [];
  for (let i = 0; i < 5; i++) jobs.push(await settledJob(world));
  const returned = [];
  for (const job of jobs) {
    const { free } = await escrow.accountOf(client.address);
    await sendEquivocation(world, job);
    await sendDispute(world, job, { by: client });
    await sendRuling(world, job, Ruling.WorkerAtFault);
    returned.push((await escrow.accountOf(client.address)).free - free);
  }
  expect(returned).to.deep.equal([60n, 60n, 6n, 6n, 6n]);
});
