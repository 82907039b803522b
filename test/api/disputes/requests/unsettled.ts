import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { chat, eventually } from "../../../support/api-client.ts";
import type { Scene } from "../support.ts";
import { DISPUTE_WAIT_MS, SLOW } from "./workers.ts";

type Answer = Awaited<ReturnType<Scene["dispute"]>>;

/** Where the machine stands still for seconds, a test begins again; not for ever. */
const ROUNDS = 5;
/** Time for two looks at the chain. */
const LOOKS_MS = 500;

/** Requests that come before there is anything to dispute. */
export function unsettled(given: () => Scene): void {
  let scene: Scene;
  beforeAll(() => {
    scene = given();
  });

  const mining = async (on: boolean) => {
    await scene.rpc("evm_setAutomine", [on]);
    if (on) await scene.rpc("evm_mine");
  };

  const isUnsettled = async (id: string) => {
    const { status } = await scene.chain.job(id);
    return status === ChainStatus.Locked || status === ChainStatus.Acknowledged;
  };
  const isRecorded = async (id: string) =>
    (await scene.pool.query("SELECT 1 FROM dispute_request WHERE job_id = $1", [id])).rowCount === 1;

  /** Begins an answer of three seconds, and stops the mining of blocks before its end: it is not settled until that goes on. */
  async function unsettledJob(): Promise<{ id: string; text: Promise<string> }> {
    for (let round = 1; round <= ROUNDS; round++) {
      const body = chat(SLOW, "Write. [[tokens:60]]", { stream: true });
      const response = await scene.api.request("POST", "/v1/chat/completions", body);
      const id = response.headers.get("x-service-job-id") as string;
      await mining(false);
      if (await isUnsettled(id)) return { id, text: response.text() };
      // The machine stood still for as long as the answer took.
      await mining(true);
      await response.text();
    }
    throw new Error(`settled before mining could be stopped, ${ROUNDS} times`);
  }

  /** Asks for a dispute; `waitedMs`: how long the answer took, once it is there. */
  function ask(id: string) {
    const began = Date.now();
    const request = { answer: null as Answer | null, waitedMs: 0, over: Promise.resolve() };
    request.over = scene.dispute(id).then((answer) => {
      request.answer = answer;
      request.waitedMs = Date.now() - began;
    });
    return request;
  }

  /** A request that came before the settlement, with its answer; null where the test stood still for as long as a request waits. */
  async function askedEarly() {
    const { id, text } = await unsettledJob();
    const request = ask(id);
    await text;
    await eventually(() => isRecorded(id), Boolean);
    await sleep(LOOKS_MS);
    expect(await isUnsettled(id)).toBe(true);
    const isOver = () => request.answer?.status === 409 && request.waitedMs >= DISPUTE_WAIT_MS;
    if (!isOver()) expect(request.answer).toBeNull();
    await mining(true);
    await request.over;
    return isOver() ? null : { id, answer: request.answer };
  }

  describe("before the settlement", () => {
    afterEach(() => mining(true));

    it("a request waits for it and then opens the dispute", async () => {
      let asked = await askedEarly();
      for (let round = 1; asked === null && round < ROUNDS; round++) asked = await askedEarly();
      expect(asked?.answer?.body).toMatchObject({ job_id: asked?.id, dispute_opened: true });
    });

    it("it is answered with 409 job_not_settled when that takes long; repeated, it counts from its first arrival", async () => {
      const { id, text } = await unsettledJob();
      const request = ask(id);
      await request.over;
      const early = request.answer as Answer;
      expect(request.waitedMs).toBeGreaterThanOrEqual(DISPUTE_WAIT_MS);
      expect(early.status).toBe(409);
      expect(early.body.error).toMatchObject({ code: "job_not_settled", type: "conflict_error" });
      expect(early.headers.get("retry-after")).toBe("5");
      await mining(true);
      await text;
      await eventually(
        () => scene.status(id),
        (status) => status === "settled",
      );
      await scene.answeredAgo(id, 100);
      await scene.pool.query(
        "UPDATE dispute_request d SET arrived_at = final_token_at + interval '59 s' FROM job j WHERE j.job_id = $1 AND d.job_id = $1",
        [id],
      );
      expect((await scene.dispute(id)).body).toMatchObject({ job_id: id, dispute_opened: true });
    });
  });
}
