/** A gateway that stops lets its sweep over unfinished jobs end: what the sweep sends must not meet a pipeline that has stopped. */
import type { Hex } from "viem";
import { expect, it } from "vitest";
import { Recovery } from "../../../../api/jobs/recovery.ts";
import { fakeGateway } from "../../../support/fake-gateway.ts";
import { chainOf } from "../../support/jobs.ts";

function sweeping() {
  const { promise: looked, resolve: goOn } = Promise.withResolvers<Hex[]>();
  const recovery = new Recovery({ ...fakeGateway({ store: { unfinished: () => looked } }), ...chainOf() });
  const order: string[] = [];
  void recovery.sweep().then(() => order.push("swept"));
  return { recovery, order, goOn: () => goOn([]) };
}

it("the stop waits for a sweep that is under way", async () => {
  const { recovery, order, goOn } = sweeping();
  const stopped = recovery.stop(60_000).then(() => order.push("stopped"));
  await new Promise(setImmediate);
  expect(order).toEqual([]);
  goOn();
  await stopped;
  expect(order).toEqual(["swept", "stopped"]);
});

it("the stop does not wait longer than it is given", async () => {
  const { recovery, order } = sweeping();
  const late = setTimeout(() => {}, 1_000);
  await recovery.stop(1);
  clearTimeout(late);
  expect(order).toEqual([]);
});
