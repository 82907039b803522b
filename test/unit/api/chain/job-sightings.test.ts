/**
 * When a gateway may believe that a job was never locked. The looks are those of celo-org/celo-monorepo#11790 and of replicas behind one
 * address: current headers beside old state, or a whole node from before the lock.
 */
import { encodeFunctionResult, type Hex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CONFIRM_MS, compareLooks, isPastLock, JobSightings } from "../../../../api/chain/job-sightings.ts";
import { type Rpc, RpcUnreachable } from "../../../../api/chain/rpc.ts";
import { inferenceEscrowAbi as abi } from "../../../../protocol/generated/abi.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";

const JOB: Hex = `0x${"0a".repeat(16)}`;
const ESCROW: Hex = `0x${"11".repeat(20)}`;
const PRICES = { creditsPerRequest: 0, creditsPer1kTokens: 0, feeBps: 0 };
const NO_JOB = {
  account: 0,
  worker: 0,
  credits: 0,
  ...PRICES,
  model: 0,
  lockedAt: 0,
  deadline: 0,
  operator: 0,
  attempt: 0,
  operatorShare: 0,
};
const TERM = { validUntil: 1_000, inclusion: 30 };

const look = (
  number: number,
  { hash = `0x${number.toString(16)}` as Hex, timestamp = 1_000, at = 1_000_000, known = 0 } = {},
) => ({
  block: { number, hash, timestamp },
  at,
  known,
});

describe("a look that found no job", () => {
  it.each([
    ["counts at a block at which the lock is void", look(50), true],
    ["counts not at a block before that", look(50, { timestamp: 999 }), false],
    ["counts not at a block that is older than a known one", look(50, { known: 51 }), false],
    ["counts on a quiet chain once the clock is past the lock", look(50, { timestamp: 900, at: 1_031_000 }), true],
    ["counts not on a quiet chain while clocks may differ", look(50, { timestamp: 900, at: 1_030_000 }), false],
  ])("%s", (_, one, counts) => {
    expect(isPastLock(one, TERM)).toBe(counts);
  });

  it.each([
    ["confirms another at a higher block, later", look(60, { at: 1_000_000 + CONFIRM_MS }), "absent"],
    ["confirms another at the same block of a quiet chain", look(50, { at: 1_000_000 + CONFIRM_MS }), "absent"],
    ["is early soon after the first", look(60, { at: 1_000_000 + CONFIRM_MS - 1 }), "early"],
    ["contradicts the first at a lower block", look(49, { at: 1_000_000 + CONFIRM_MS }), "contradiction"],
    [
      "contradicts it where a reorganisation replaced the block",
      look(50, { hash: "0xff", at: 2_000_000 }),
      "contradiction",
    ],
  ])("%s", (_, second, found) => {
    expect(compareLooks(look(50), second, CONFIRM_MS)).toBe(found);
  });
});

describe("looking at a job", () => {
  beforeEach(() => void vi.useFakeTimers({ now: 2_000_000 }));
  afterEach(() => void vi.useRealTimers());

  /** A node with `newest` blocks; its state is the one of block `state`, at which it has the job or not. */
  function node({
    newest,
    lockedAt,
    knownBlock = async () => 0,
  }: {
    newest: number;
    lockedAt: number | null;
    knownBlock?: () => Promise<number>;
  }) {
    const head = { block: { number: newest } };
    const has = { newest, state: newest };
    const word = (status: number) =>
      encodeFunctionResult({ abi, functionName: "jobOf", result: { ...NO_JOB, status } });
    const batch = async ([block]: { params: [Hex] }[]) => {
      const number = Number((block as { params: [Hex] }).params[0]);
      if (number > has.newest) return [null, word(ChainStatus.None)];
      const locked = lockedAt !== null && lockedAt <= Math.min(number, has.state);
      const header = { number: `0x${number.toString(16)}`, hash: `0x${number.toString(16)}`, timestamp: "0x3e8" };
      return [header, word(locked ? ChainStatus.Locked : ChainStatus.None)];
    };
    const rpc = { batch } as unknown as Rpc;
    const sightings = new JobSightings({ rpc, escrow: ESCROW, head, knownBlock });
    return { sightings, head, has };
  }

  it("believes the second look at a later block, and none before", async () => {
    const { sightings, head, has } = node({ newest: 50, lockedAt: null });
    expect(sightings.isAbsent(await sightings.at(JOB), TERM)).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sightings.isAbsent(await sightings.at(JOB), TERM)).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    head.block.number = has.newest = has.state = 60;
    expect(sightings.isAbsent(await sightings.at(JOB), TERM)).toBe(true);
  });

  it("believes no node whose state is behind its headers", async () => {
    const { sightings, head, has } = node({ newest: 50, lockedAt: 45 });
    has.state = 40;
    expect(sightings.isAbsent(await sightings.at(JOB), TERM)).toBe(false);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS);
    head.block.number = has.newest = has.state = 60;
    const sighting = await sightings.at(JOB);
    expect(sighting.job.status).toBe(ChainStatus.Locked);
    expect(sightings.isAbsent(sighting, TERM)).toBe(false);
  });

  it("rejects where the node does not have the block, instead of reading an older one", async () => {
    const { sightings, has } = node({ newest: 50, lockedAt: null });
    has.newest = 40;
    await expect(sightings.at(JOB)).rejects.toBeInstanceOf(RpcUnreachable);
  });

  it("reads the newest known block once a second, for every job that is looked at", async () => {
    const knownBlock = vi.fn(async () => 40);
    const { sightings } = node({ newest: 50, lockedAt: null, knownBlock });
    for (const job of ["0a", "0b", "0c"]) await sightings.at(`0x${job.repeat(16)}`);
    expect(knownBlock).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(1_000);
    knownBlock.mockResolvedValueOnce(45);
    expect(await sightings.at(JOB)).toMatchObject({ known: 45 });
  });

  it("asks for the newest known block again where it could not be read", async () => {
    const knownBlock = vi.fn(async () => 40).mockRejectedValueOnce(new Error("no database"));
    const { sightings } = node({ newest: 50, lockedAt: null, knownBlock });
    await expect(sightings.at(JOB)).rejects.toThrow("no database");
    expect(await sightings.at(JOB)).toMatchObject({ known: 40 });
  });

  it("begins anew when the job was seen in between", async () => {
    const { sightings, has } = node({ newest: 50, lockedAt: 45 });
    has.state = 40;
    expect(sightings.isAbsent(await sightings.at(JOB), TERM)).toBe(false);
    has.state = 50;
    await sightings.at(JOB);
    has.state = 40;
    await vi.advanceTimersByTimeAsync(CONFIRM_MS);
    expect(sightings.isAbsent(await sightings.at(JOB), TERM)).toBe(false);
  });
});
