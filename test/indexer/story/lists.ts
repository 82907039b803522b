import { expect, test } from "vitest";
import { beforeBlock, getHead, getJob, listEvents, listJobs } from "../../../api/index/index.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import type { Live } from "./live.ts";

/** Pages of jobs, and what comes while somebody reads. */
export function lists(live: Live): void {
  test("lists are newest first and their cursors meet", async () => {
    const { pool, world } = live.stage;
    const wallet = world.client.address;
    const all = await listJobs(pool, { wallet, limit: 100 });
    expect(all.hasMore).toBe(false);
    expect(all.rows).toHaveLength(Object.keys(live.story).length);
    const ids = all.rows.map((row) => row.id);
    const first = await listJobs(pool, { wallet, limit: 3 });
    expect(first.hasMore).toBe(true);
    const second = await listJobs(pool, { wallet, limit: 20, before: first.rows.at(-1)?.id });
    expect([...first.rows, ...second.rows].map((row) => row.id)).toEqual(ids);
    const newer = await listJobs(pool, { wallet, limit: 10, after: ids[2] });
    expect(newer.rows.map((row) => row.id)).toEqual(ids.slice(0, 2));
    expect((await listJobs(pool, { wallet, limit: 10, status: "settled" })).rows).toHaveLength(9);
    expect(
      (await listJobs(pool, { wallet, limit: 10, model: "mistral-7b-instruct-v0.3", status: "pending" })).rows.map(
        (row) => row.id,
      ),
    ).toEqual([toApiJobId(live.story.open)]);
    await expect(listJobs(pool, { wallet: world.gateway.address, limit: 10, before: ids[0] })).rejects.toMatchObject({
      param: "before",
    });
  });

  test("what happens while the indexer runs is there at once, and the head says how far it is", async () => {
    const { pool, world } = live.stage;
    const before = await getHead(pool);
    const { id, call } = await world.lock();
    await world.send(world.gateway, call);
    await live.stage.caughtUp();
    expect(await getJob(pool, toApiJobId(id))).toMatchObject({ status: "pending" });
    const head = await getHead(pool);
    expect(head).toMatchObject({ blockNumber: (before?.blockNumber ?? 0) + 1, ready: true });
    const events = await listEvents(pool, {
      after: beforeBlock(head?.blockNumber ?? 0),
      toBlock: head?.blockNumber ?? 0,
      limit: 10,
    });
    expect(events.map((event) => event.kind)).toEqual(["job.locked"]);
  });
}
