/** The places of a worker whose model server bears fewer requests than were configured. Only the clock is played. */
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Slots } from "../../../worker/jobs/slots.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new AbortController().signal;

/** A model server with so many places, and jobs that go through the slots to it as the runner sends them. */
function world(slots: Slots, places: number) {
  const server = { places, running: 0, refusals: 0 };
  const ends: (() => void)[] = [];
  const outcomes: string[] = [];
  const job = async (until = never()) => {
    try {
      await slots.enter(until);
    } catch (error) {
      return void outcomes.push((error as { code: string }).code);
    }
    let isDone = false;
    try {
      for (let isAgain = false; server.running >= server.places; isAgain = true) {
        server.refusals += 1;
        if (!(await slots.refused(1_000, { isAgain, until }))) return void outcomes.push("no room");
      }
      server.running += 1;
      await new Promise<void>((end) => ends.push(end));
      server.running -= 1;
      isDone = true;
      outcomes.push("answered");
    } catch (error) {
      outcomes.push((error as { code: string }).code);
    } finally {
      slots.leave({ isDone });
    }
  };
  /** Everything that happens without time. */
  const settle = () => vi.advanceTimersByTimeAsync(0);
  return { server, ends, outcomes, job, settle };
}

describe("a worker's places", () => {
  it("are as many as its model server bore, found at the first refusals", async () => {
    const slots = new Slots(32, 64);
    const { server, job, settle } = world(slots, 4);
    for (let i = 0; i < 12; i++) void job();
    await settle();
    expect([slots.limit, slots.running, slots.waiting]).toEqual([4, 4, 8]);
    expect(server.running).toBe(4);
    // Those that come now wait here, and are not sent.
    const { refusals } = server;
    for (let i = 0; i < 10; i++) void job();
    await settle();
    expect(server.refusals).toBe(refusals);
    expect(slots.waiting).toBe(18);
  });

  it("answer everybody in the end, and the server refuses a job once", async () => {
    const slots = new Slots(32, 64);
    const { server, ends, outcomes, job, settle } = world(slots, 4);
    const jobs = Array.from({ length: 40 }, () => job());
    for (let turn = 0; turn < 200 && outcomes.length < 40; turn++) {
      await settle();
      ends.shift()?.();
    }
    await Promise.all(jobs);
    expect(outcomes).toEqual(Array(40).fill("answered"));
    expect(server.refusals).toBeLessThanOrEqual(28);
    expect([slots.running, slots.waiting]).toEqual([0, 0]);
  });

  it("grow again by one for each answer when the server has refused none for a while", async () => {
    const slots = new Slots(8, 64);
    const { server, ends, job, settle } = world(slots, 2);
    for (let i = 0; i < 4; i++) void job();
    await settle();
    expect(slots.limit).toBe(2);
    server.places = 8;
    const finish = async () => {
      ends.shift()?.();
      await settle();
    };
    await finish();
    expect(slots.limit).toBe(2);
    await vi.advanceTimersByTimeAsync(30_000);
    await finish();
    await finish();
    expect(slots.limit).toBe(4);
    for (let i = 0; i < 10; i++) {
      void job();
      await finish();
    }
    expect(slots.limit).toBe(8);
  });

  it("are not fewer because others fill the server, or it loads a model", async () => {
    const slots = new Slots(8, 64);
    const { server, job, settle } = world(slots, 0);
    void job();
    await settle();
    expect([slots.limit, slots.running, slots.waiting]).toEqual([8, 0, 1]);
    server.places = 8;
    await vi.advanceTimersByTimeAsync(999);
    expect(slots.running).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect([slots.running, slots.waiting]).toEqual([1, 0]);
  });

  it("are given up by a job that cannot be taken any more", async () => {
    const slots = new Slots(1, 1);
    const { outcomes, job, settle } = world(slots, 0);
    const over = new AbortController();
    const jobs = [job(over.signal), job(over.signal), job()];
    await settle();
    expect(outcomes).toEqual(["busy"]);
    over.abort();
    await Promise.all(jobs);
    expect(outcomes).toEqual(["busy", "no room", "busy"]);
    expect([slots.running, slots.waiting]).toEqual([0, 0]);
  });

  it("leave no listener on a job's signal", async () => {
    const slots = new Slots(1, 1);
    const { server, ends, outcomes, job, settle } = world(slots, 0);
    const over = new AbortController();
    const jobs = [job(over.signal), job(over.signal)];
    await settle();
    expect(getEventListeners(over.signal, "abort")).toHaveLength(2);
    server.places = 1;
    await vi.advanceTimersByTimeAsync(1_000);
    ends.shift()?.();
    await settle();
    ends.shift()?.();
    await Promise.all(jobs);
    expect(outcomes).toEqual(["answered", "answered"]);
    expect(getEventListeners(over.signal, "abort")).toEqual([]);
  });

  it("take nobody any more once they are closed, and finish what runs", async () => {
    const slots = new Slots(1, 1);
    const { ends, outcomes, job, settle } = world(slots, 1);
    const first = job();
    void job();
    await settle();
    slots.close();
    await job();
    await settle();
    expect(outcomes).toEqual(["draining", "draining"]);
    ends.shift()?.();
    await first;
    expect(outcomes.at(-1)).toBe("answered");
  });
});
