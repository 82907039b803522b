import { expect, test } from "vitest";
import { getDispute, getJob, listDisputes, listJobEvents, listJobs, listSlashes } from "../../../api/index/index.ts";
import { answerHash, toProofHash } from "../../../protocol/answer-hash.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { OTHER_HASH } from "../support/disputes.ts";
import type { Story } from "../support/everything.ts";
import type { Live } from "./live.ts";

/** How disputes and equivocations end, and what they cost whom. */
export function disputes(live: Live): void {
  const id = (name: keyof Story) => toApiJobId(live.story[name]);
  const job = async (name: keyof Story) => await getJob(live.stage.pool, id(name));
  const dispute = async (name: keyof Story) => await getDispute(live.stage.pool, id(name));
  const events = async (name: keyof Story) => await listJobEvents(live.stage.pool, live.story[name]);
  const kinds = async (name: keyof Story) => (await events(name)).map((event) => event.kind);
  const data = async (name: keyof Story, kind: string) => (await events(name)).find((row) => row.kind === kind)?.data;

  test("a ruling against the worker refunds the charge and slashes the stake", async () => {
    expect(await kinds("guilty")).toEqual([
      "job.locked",
      "job.acknowledged",
      "job.settled",
      "job.disputed",
      "job.arbiter_voted",
      "job.arbiter_voted",
      "job.arbiter_voted",
      "worker.slashed",
      "job.dispute_resolved",
      "treasury.compensation_paid",
      "job.compensated",
    ]);
    expect(await job("guilty")).toMatchObject({
      status: "refunded",
      creditsCharged: 8,
      creditsReturned: 0,
      creditsCompensated: 8,
    });
    const row = await job("guilty");
    expect(await dispute("guilty")).toMatchObject({
      receivedHash: OTHER_HASH,
      workerHash: row?.proofHash,
      byGateway: true,
      fromProven: false,
      credits: 8,
      bond: 0,
      arbiterSet: 1,
      votesWorkerAtFault: 2,
      votesGatewayAtFault: 0,
      votesRejected: 1,
      ruling: "worker_at_fault",
      openedTx: row?.disputeTx,
      resolvedTx: row?.returnTx,
    });
    const [slashed] = (await events("guilty")).filter((event) => event.kind === "worker.slashed");
    expect(slashed?.data).toMatchObject({
      worker_address: live.stage.world.worker.address.toLowerCase(),
      slash_amount_svc: 500,
      slash_tx: row?.returnTx,
      reason: "fraudulent_proof",
      related_job_id: id("guilty"),
    });
    expect(await data("guilty", "job.disputed")).toMatchObject({
      job_id: id("guilty"),
      your_hash: toProofHash(OTHER_HASH),
      worker_hash: toProofHash(answerHash(`answer to ${live.story.guilty}`)),
      dispute_tx: row?.disputeTx,
      arbitration_window_hours: 60 / 3_600,
      opened_by: "gateway",
    });
  });

  test("what the treasury owes is paid in parts, each with a key of its own", async () => {
    const rows = (await events("indebted")).filter((event) => event.kind === "job.compensated");
    expect(rows.map((row) => [row.data.credits_compensated, row.data.owed])).toEqual([
      [0, "80000"],
      [4, "40000"],
      [4, "0"],
    ]);
    expect(new Set(rows.map((row) => row.key)).size).toBe(3);
    expect(await job("indebted")).toMatchObject({ status: "refunded", creditsCompensated: 8 });
    // The wallet's bond came back with the ruling.
    expect(await dispute("indebted")).toMatchObject({ byGateway: false, bond: 100, creditsReturned: 100 });
  });

  test("a rejected dispute of a proven job leaves it settling, and costs the bond", async () => {
    const row = await job("rejected");
    expect(row).toMatchObject({ status: "settling", creditsCharged: 0, creditsReturned: 0, endedAt: null });
    const closed = await dispute("rejected");
    expect(closed).toMatchObject({ fromProven: true, ruling: "rejected", creditsReturned: 0 });
    expect(row?.finalizeFrom).toBe(closed?.resolvedAt);
  });

  test("an expired dispute leaves the charge, and gives the fee back", async () => {
    expect(await job("expired")).toMatchObject({ status: "settled", creditsCharged: 8, creditsCompensated: 0 });
    expect(await dispute("expired")).toMatchObject({ ruling: "expired" });
    // 10 % of 8 credits is less than a credit: it waits as tokens.
    const [payout] = await live.stage.sql("SELECT payee, units FROM index.payout WHERE job_id = $1", [
      live.story.expired,
    ]);
    expect(payout).toEqual({ payee: live.stage.world.client.address.toLowerCase(), units: "8000" });
  });

  test("equivocation sends an open job back, returns a held escrow and refunds a charge", async () => {
    expect(await job("equivocatedOpen")).toMatchObject({ status: "pending", worker: null, acknowledgedAt: null });
    expect(await kinds("equivocatedOpen")).toEqual([
      "job.locked",
      "job.acknowledged",
      "worker.slashed",
      "job.equivocated",
    ]);
    expect(await job("equivocatedProven")).toMatchObject({ status: "refunded", creditsReturned: 8, creditsCharged: 0 });
    expect(await data("equivocatedProven", "job.refunded")).toMatchObject({ reason: "equivocation" });
    expect(await data("refunded", "job.refunded")).toMatchObject({ reason: "timeout" });
    expect(await job("equivocatedSettled")).toMatchObject({
      status: "refunded",
      creditsCharged: 8,
      creditsCompensated: 8,
    });
  });

  test("disputes and slashes are listed newest first", async () => {
    const { pool, world } = live.stage;
    const open = await listDisputes(pool, { open: true, limit: 10 });
    expect(open.map((row) => row.jobId)).toEqual([id("contested")]);
    expect(open[0]).toMatchObject({ ruling: null, resolvedAt: null, votesGatewayAtFault: 1 });
    const all = await listDisputes(pool, { limit: 10 });
    expect(all.map((row) => row.jobId)).toEqual(
      (["contested", "expired", "rejected", "indebted", "guilty"] as const).map(id),
    );
    expect(await listDisputes(pool, { limit: 10, before: all[3]?.position })).toEqual(all.slice(4));
    const slashes = await listSlashes(pool, [world.worker.address, world.client.address], 10);
    expect(slashes.map((row) => [row.jobId, row.amount, row.reason])).toEqual([
      [id("equivocatedSettled"), 500_000_000n, "equivocation"],
      [id("equivocatedProven"), 500_000_000n, "equivocation"],
      [id("equivocatedOpen"), 500_000_000n, "equivocation"],
      [id("guilty"), 500_000_000n, "fraudulent_proof"],
    ]);
    expect(await listSlashes(pool, [world.worker.address], 3)).toEqual(slashes.slice(0, 3));
    expect(await listSlashes(pool, [world.client.address], 3)).toEqual([]);
    const disputed = await listJobs(pool, { wallet: world.client.address, limit: 10, status: "disputed" });
    expect(disputed.rows.map((row) => row.id)).toEqual([id("contested")]);
  });
}
