/** What a charged job costs an operator in gas, from the receipts of the transactions of its newest ones. */
import express from "express";
import { pino } from "pino";
import { toEventSelector } from "viem";
import { expect, it } from "vitest";
import { RpcUnreachable } from "../../../../api/chain/rpc.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { inferenceEscrowAbi } from "../../../../protocol/generated/abi.ts";
import type { OperatorGas } from "../../../../web/contract.ts";
import { operatorCostsRoute } from "../../../../web/server/operator-costs.ts";
import { serve } from "../../support/serve.ts";

const ESCROW = `0x${"e5".repeat(20)}` as const;
const topic = (name: string) =>
  toEventSelector(inferenceEscrowAbi.find((item) => item.type === "event" && item.name === name) as never);
const log = (name: string, address: string = ESCROW) => ({ address, topics: [topic(name)] });

type Job = { escrowTx: string; acknowledgeTx: string; settlementTx: string };
type Receipts = Record<string, { gas: number; logs: object[] } | Error>;

async function open(jobs: Job[], receipts: Receipts) {
  const asked: string[] = [];
  const request = async (_method: string, [hash]: [string]) => {
    asked.push(hash);
    const found = receipts[hash];
    if (found instanceof Error) throw found;
    return found ? { gasUsed: `0x${found.gas.toString(16)}`, effectiveGasPrice: "0xa", logs: found.logs } : null;
  };
  const route = operatorCostsRoute({
    rpc: { request },
    reader: { query: async () => ({ rows: jobs }) },
    escrow: ESCROW,
  } as never);
  const app = express()
    .get("/operators/:id/gas", route)
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const url = await serve(app);
  return {
    asked,
    get: async (id: string) => (await (await fetch(`${url}/operators/${id}/gas`)).json()) as OperatorGas,
  };
}

const fused = (escrowTx: string, settlementTx: string): Job => ({
  escrowTx,
  acknowledgeTx: settlementTx,
  settlementTx,
});

it("shares a transaction's fee between the steps in it", async () => {
  // Two jobs locked and settled in two transactions: 100 gas and 60 at 10 wei are four steps.
  const receipts: Receipts = {
    lock: {
      gas: 100,
      logs: [log("JobLocked"), log("JobLocked"), log("JobLocked", ESCROW.replace("e5", "aa")), log("Deposited")],
    },
    settle: { gas: 60, logs: [log("JobSettled"), log("JobSettled")] },
  };
  const { get } = await open([fused("lock", "settle"), fused("lock", "settle")], receipts);
  expect(await get("1")).toEqual({ jobs: 2, wei_per_job: "800" });
});

it("counts three steps of a job whose worker acknowledged it before", async () => {
  const receipts: Receipts = {
    a: { gas: 30, logs: [log("JobLocked")] },
    b: { gas: 30, logs: [log("JobAcknowledged")] },
    c: { gas: 30, logs: [log("JobSettled")] },
  };
  const { get } = await open([{ escrowTx: "a", acknowledgeTx: "b", settlementTx: "c" }], receipts);
  expect(await get("1")).toEqual({ jobs: 1, wei_per_job: "900" });
});

it("says nothing without a charged job, or of transactions unknown to the node", async () => {
  expect(await (await open([], {})).get("1")).toEqual({ jobs: 0, wei_per_job: null });
  expect(await (await open([fused("a", "b")], {})).get("1")).toEqual({ jobs: 0, wei_per_job: null });
});

it("asks the node for at most 20 receipts, once a minute for all who look", async () => {
  const jobs = Array.from({ length: 25 }, (_, n) => fused(`a${n}`, `b${n}`));
  const { get, asked } = await open(jobs, {});
  await Promise.all(Array.from({ length: 5 }, () => get("1")));
  expect(asked).toHaveLength(20);
  await get("01");
  expect(asked).toHaveLength(20);
});

it("asks a node that fails once a second, however many look", async () => {
  const { get, asked } = await open([fused("a", "b")], { a: new RpcUnreachable("eth_getTransactionReceipt", null) });
  for (let n = 0; n < 5; n++) expect(await get("1")).toMatchObject({ error: { code: "service_unavailable" } });
  expect(asked).toEqual(["a", "b"]);
});
