import { type RequestHandler, Router } from "express";
import type { Address, Hex } from "viem";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { type RawReceipt, type Rpc, RpcError } from "../chain/rpc.ts";
import { getJob, IndexUnavailable, type JobRow, listJobEvents, type Reader } from "../db/index-reads.ts";
import { findJob, type StoredJob } from "../db/jobs.ts";
import { ApiError, WebError } from "../errors.ts";

/** A transaction as the node shows it; numbers as numbers, the rest as it is. Decoding is the reader's own affair. */
type ShownTransaction = {
  hash: Hex;
  status: "success" | "reverted" | "pending";
  from: Hex;
  to: Hex | null;
  block_number: number | null;
  /** Unix seconds of block time. */
  timestamp: number | null;
  gas_used: number | null;
  /** Of a mined one; in the chain's smallest unit, decimal. */
  fee_wei: string | null;
  /** Of a reverted call of the escrow: its data, and what the contract answers to it in that block. */
  reverted: { input: Hex; data: Hex | null } | null;
  logs: { address: Hex; topics: Hex[]; data: Hex; log_index: number }[];
};

type RawTransaction = { hash: Hex; from: Hex; to: Hex | null; input: Hex; value: Hex; gas: Hex };

/**
 * What the explorer needs from the chain, for everyone: `GET /tx/{hash}` relays a transaction with its logs, `GET
 * /explorer/jobs/{job_id}` all transactions that concern a job. The index only says which ones; their contents come
 * from the node.
 */
export function explorerRoutes({ rpc, reader, escrow }: { rpc: Rpc; reader: Reader; escrow: Address }): Router {
  const transaction: RequestHandler = async (request, response) => {
    const hash = String(request.params.hash).toLowerCase();
    if (!/^0x[0-9a-f]{64}$/.test(hash)) {
      throw new WebError("transaction_not_found", `'${hash}' is not a transaction hash: 0x and 64 hex digits.`);
    }
    const shown = await readTransaction(rpc, escrow, hash as Hex);
    if (shown === null) {
      throw new WebError("transaction_not_found", `The chain does not know a transaction ${hash} (yet).`);
    }
    response.json(shown);
  };

  const job: RequestHandler = async (request, response) => {
    const jobId = String(request.params.job_id);
    const id = fromApiJobId(jobId);
    const [row, events, stored] = id === null ? [null, [], null] : await lookUp(reader, jobId, id);
    const hashes = [
      ...events.map((event) => event.txHash),
      ...[row?.escrowTx, stored?.escrowTx, stored?.settlementTx, stored?.refundTx].filter((hash) => !!hash),
    ] as Hex[];
    if (hashes.length === 0) throw new ApiError("job_not_found", `There is no job '${jobId}' on the chain (yet).`);
    const transactions = await Promise.all([...new Set(hashes)].map((hash) => readTransaction(rpc, escrow, hash)));
    response.json({
      id: jobId,
      wallet: row?.wallet ?? stored?.wallet ?? null,
      model: row?.model ?? stored?.model ?? null,
      tier: row?.tier ?? stored?.tier ?? null,
      status: row?.status ?? null,
      proof_hash: row?.proofHash ?? null,
      transactions: transactions
        .filter((shown) => shown !== null)
        .toSorted((a, b) => (a.block_number ?? Infinity) - (b.block_number ?? Infinity)),
    });
  };

  return Router().get("/tx/:hash", transaction).get("/explorer/jobs/:job_id", job);
}

type Known = [row: JobRow | null, events: { txHash: Hex }[], stored: StoredJob | null];

async function lookUp(reader: Reader, jobId: string, id: Hex): Promise<Known> {
  const stored = await findJob(reader, id);
  try {
    return [await getJob(reader, jobId), await listJobEvents(reader, id), stored];
  } catch (error) {
    // While the index is being built, what this gateway did itself can still be shown.
    if (error instanceof IndexUnavailable) return [null, [], stored];
    throw error;
  }
}

const NODE_MS = 5_000;
/** A full batch of ours has a third of it. Anyone can name a transaction of his own that logs megabytes. */
const RECEIPT_BYTES = 2 * 1024 * 1024;

async function readTransaction(rpc: Rpc, escrow: Address, hash: Hex): Promise<ShownTransaction | null> {
  const receipt = await rpc.request<RawReceipt | null>("eth_getTransactionReceipt", [hash], NODE_MS, RECEIPT_BYTES);
  if (receipt === null) {
    const sent = await rpc.request<RawTransaction | null>("eth_getTransactionByHash", [hash]);
    if (sent === null) return null;
    const { from, to } = sent;
    const unknown = { block_number: null, timestamp: null, gas_used: null, fee_wei: null, reverted: null };
    return { hash, status: "pending", from, to, ...unknown, logs: [] };
  }
  const block = await rpc.request<{ timestamp: Hex }>("eth_getBlockByNumber", [receipt.blockNumber, false]);
  const success = receipt.status === "0x1";
  return {
    hash,
    status: success ? "success" : "reverted",
    from: receipt.from,
    to: receipt.to,
    block_number: Number(receipt.blockNumber),
    timestamp: Number(block.timestamp),
    gas_used: Number(receipt.gasUsed),
    fee_wei: String(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)),
    reverted: success || receipt.to?.toLowerCase() !== escrow.toLowerCase() ? null : await repeat(rpc, receipt),
    logs: receipt.logs.map(({ address, topics, data, logIndex }) => ({
      address,
      topics,
      data,
      log_index: Number(logIndex),
    })),
  };
}

/** Gas of a call that is made again, and how many at once: a node that settles jobs must not be kept busy. No wallet's own call needs more. */
const MOST_GAS = 3_000_000n;
const REPEATED_AT_ONCE = 2;
let repeating = 0;

/** Makes a reverted call of the escrow again, on the state before its block: a receipt does not say why. The escrow runs nobody's code. */
async function repeat(rpc: Rpc, { transactionHash, blockNumber }: RawReceipt): Promise<ShownTransaction["reverted"]> {
  const sent = await rpc.request<RawTransaction | null>("eth_getTransactionByHash", [transactionHash]);
  if (sent === null) return null;
  const { from, to, input, value, gas } = sent;
  if (BigInt(gas) > MOST_GAS || repeating >= REPEATED_AT_ONCE) return null;
  const before = `0x${(BigInt(blockNumber) - 1n).toString(16)}`;
  repeating += 1;
  try {
    await rpc.request("eth_call", [{ from, to, input, value, gas }, before], NODE_MS);
    // What was mined before it in its own block made it fail.
    return { input, data: null };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { input, data: typeof error.data === "string" ? (error.data as Hex) : null };
  } finally {
    repeating -= 1;
  }
}
