/** Who may lock a wallet's credits: as the chain last told it, by its account or by an event that has the whole of it. */
import { beforeEach, expect, it } from "vitest";
import type { Balances } from "../../../../../api/chain/balances.ts";
import { batch, jobId, ScriptedNode, wallet } from "./scripted-node.ts";

/** Bits of an account's flags. */
const [FROZEN, AUTHORIZED] = [1, 4];

let node: ScriptedNode;
let balances: Balances;
beforeEach(async () => {
  node = new ScriptedNode();
  balances = await node.open();
});

it("are unknown before a read of the chain, also after a balance event", () => {
  expect(balances.terms(wallet)).toBeNull();
  balances.observe(batch(17, 4, "JobFailed", jobId, { free: 700, escrowed: 0 }));
  expect(balances.terms(wallet)).toBeNull();
});

it("are the account's", async () => {
  node.mine({ free: 700, escrowed: 0, sent: 4, operator: 2, flags: FROZEN | AUTHORIZED });
  await balances.read(wallet);
  expect(balances.terms(wallet)).toMatchObject({ operator: 2, frozen: true, authorized: true, dailyLimit: null });
});

it("come with a lock or a settlement, and stay with what tells less", async () => {
  await balances.read(wallet);
  expect(balances.terms(wallet)).toMatchObject({ operator: 1, authorized: false });
  balances.observe(batch(17, 4, "JobLocked", jobId, { free: 600, escrowed: 100, flags: AUTHORIZED }));
  expect(balances.terms(wallet)).toMatchObject({ operator: 1, authorized: true });
  balances.observe(batch(18, 5, "JobSettled", jobId, { free: 692, escrowed: 0, operator: 0 }));
  expect(balances.terms(wallet)).toMatchObject({ operator: 0, authorized: false });
  balances.observe(batch(19, 6, "JobFailed", jobId, { free: 700, escrowed: 0 }));
  expect(balances.terms(wallet)).toMatchObject({ operator: 0 });
  expect(balances.known(wallet)).toEqual({ free: 700, escrowed: 0 });
});
