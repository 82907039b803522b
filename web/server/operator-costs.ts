/** The gas that an operator pays for its jobs: the fees of the transactions that lock and settle its newest charged ones. */
import type { RequestHandler } from "express";
import { type Address, type Hex, toEventSelector } from "viem";
import { feeOf } from "../../api/chain/operations.ts";
import type { RawReceipt, Rpc } from "../../api/chain/rpc.ts";
import { read } from "../../api/db/index-reads.ts";
import { view } from "../../api/db/index-rows.ts";
import type { Reader } from "../../api/db/pool.ts";
import { WebError } from "../../api/errors.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import type * as contract from "../contract.ts";
import { AnswerCache } from "./answer-cache.ts";

/** Newest charged jobs that are looked at, and their transactions that are asked for: a receipt of a full batch has some 100 kB. */
const JOBS = 25;
const TRANSACTIONS = 20;
const RECEIPT_BYTES = 2 * 1024 * 1024;
const NODE_MS = 5_000;
const KEPT_MS = 60_000;

/** Events that say that a transaction did something for a job on its way to the charge: they share its fee. */
const STEPS = new Set(
  inferenceEscrowAbi
    .filter((item) => item.type === "event")
    .filter(({ name }) => ["JobLocked", "JobAcknowledged", "JobSettled"].includes(name))
    .map((item) => toEventSelector(item)),
);

type JobSteps = { escrowTx: Hex; acknowledgeTx: Hex; settlementTx: Hex };
type Parts = { rpc: Pick<Rpc, "request">; reader: Reader; escrow: Address };

/** `GET /operators/{number}/gas`: what a job costs in gas, by this operator's newest charged jobs. */
export function operatorCostsRoute(parts: Parts): RequestHandler {
  const answers = new AnswerCache<contract.OperatorGas>({ keptMs: () => KEPT_MS, bytes: 64 * 1024 });
  return async (request, response) => {
    const id = String(request.params.id);
    if (!/^\d{1,9}$/.test(id)) throw new WebError("not_found", `There is no operator '${id.slice(0, 64)}'.`);
    response.type("json").send(await answers.get(String(Number(id)), () => readCosts(parts, Number(id))));
  };
}

async function readCosts({ rpc, reader, escrow }: Parts, operator: number): Promise<contract.OperatorGas> {
  const text = `SELECT escrow_tx AS "escrowTx", acknowledge_tx AS "acknowledgeTx", settlement_tx AS "settlementTx"
    FROM ${view("job")} WHERE operator = $1 AND status = 'settled' ORDER BY created_at DESC LIMIT ${JOBS}`;
  const jobs = await read<JobSteps>(reader, "operator_costs", text, [operator]);
  const hashes = [...new Set(jobs.flatMap((job) => Object.values(job) as Hex[]))].slice(0, TRANSACTIONS);
  const receipts = await Promise.all(
    hashes.map((hash) => rpc.request<RawReceipt | null>("eth_getTransactionReceipt", [hash], NODE_MS, RECEIPT_BYTES)),
  );
  const known = receipts.filter((receipt) => receipt !== null);
  const steps = known.reduce((sum, { logs }) => sum + stepsIn(logs, escrow), 0);
  const paid = known.reduce((sum, receipt) => sum + feeOf(receipt), 0n);
  if (steps === 0) return { jobs: 0, wei_per_job: null };
  // A settlement that comes first assigns the worker, too: then there are two steps.
  const ofJobs = jobs.reduce((sum, job) => sum + (job.acknowledgeTx === job.settlementTx ? 2 : 3), 0);
  return { jobs: jobs.length, wei_per_job: String((paid * BigInt(ofJobs)) / BigInt(steps * jobs.length)) };
}

const stepsIn = (logs: RawReceipt["logs"], escrow: Address): number =>
  logs.filter(({ address, topics }) => address.toLowerCase() === escrow.toLowerCase() && STEPS.has(topics[0] as Hex))
    .length;
