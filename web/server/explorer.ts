/** The explorer: what the chain says of a transaction, a block, an address or a job. Open to everybody, below /app/api. */
import { type ErrorRequestHandler, type Request, type RequestHandler, Router } from "express";
import { type Address, encodeFunctionData, erc20Abi, getAddress, type Hex } from "viem";
import { feeOf } from "../../api/chain/operations.ts";
import { type Head, type RawReceipt, type Rpc, RpcError, RpcTooLong } from "../../api/chain/rpc.ts";
import {
  type AccountRow,
  claimedBy,
  getAccount,
  getJob,
  ifIndexed,
  listJobTransactions,
  listWorkersOf,
} from "../../api/db/index-reads.ts";
import { findJob } from "../../api/db/jobs.ts";
import { type Reader, sharedRead } from "../../api/db/pool.ts";
import { ApiError, quoted, WebError } from "../../api/errors.ts";
import { whyUncharged } from "../../api/jobs/job-reader.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type * as contract from "../contract.ts";
import { AnswerCache } from "./answer-cache.ts";
import {
  listBlockEvents,
  listEventsOfJobs,
  listHistory,
  listJobsBy,
  listJobsNamed,
  listLatestEvents,
  listOperators,
  transactionsOf,
} from "./explorer-reads.ts";
import { EVENTS_SHOWN, JOBS_SHOWN, showEvent, showJob } from "./network.ts";

type RawTransaction = { hash: Hex; from: Hex; to: Hex | null; input: Hex; value: Hex; gas: Hex; nonce: Hex };

export type ExplorerParts = { rpc: Rpc; head: Pick<Head, "block">; reader: Reader; contracts: Record<string, Address> };

const LATEST_JOBS = 12;
const LATEST_TRANSACTIONS = 12;
const TRANSACTIONS_SHOWN = 25;
/** The most events that are read for the jobs on a page of an address: each job has two to five, but for disputes. */
const JOB_EVENTS = 300;
/** Events among which the latest jobs and transactions are looked for; a full batch has some 150. */
const LATEST_EVENTS = 600;
const BLOCK_EVENTS = 5_000;
/** A mined transaction stays as it is, unless a reorganisation replaces it; more of a job's are still to come. */
const MINED_MS = 5_000;
const JOB_MS = 1_000;
/** All answers that are kept of transactions, and of jobs. */
const KEPT_BYTES = 16 * 1024 * 1024;

/**
 * The explorer's reads. The index says which transactions are the protocol's; their contents come from the node.
 *   /tx/{hash}                      a transaction with its logs
 *   /explorer/jobs/{job_id}         all transactions that concern a job
 *   /explorer/blocks/{number}       a block
 *   /explorer/addresses/{address}   an address, with its stablecoin and the payouts that wait for it
 *   /explorer/latest                the newest jobs and transactions
 *   /explorer/transactions          all transactions of the protocol, newest first, in pages; `before`: the `next` of the page before
 *   /explorer/jobs                  all jobs by their locks, in such pages
 *   /explorer/find/{hash}           what a hash may be
 */
export function explorerRoutes({ rpc, head, reader, contracts }: ExplorerParts): Router {
  const ours = new Set(Object.values(contracts).map((address) => address.toLowerCase()));
  const escrow = contracts["InferenceEscrow"] as Address;
  const operatorsKnown = sharedRead(() => listOperators(reader));
  const readTransaction = (hash: Hex, withInput = false) => transactionOf(rpc, hash, { ours, escrow, withInput });
  const transactions = new AnswerCache<{ status: string }>({
    keptMs: ({ status }) => (status === "pending" ? 0 : MINED_MS),
    bytes: KEPT_BYTES,
  });
  const jobs = new AnswerCache({ keptMs: () => JOB_MS, bytes: KEPT_BYTES });
  const transaction: RequestHandler = async (request, response) => {
    const hash = String(request.params.hash).toLowerCase();
    if (!/^0x[0-9a-f]{64}$/.test(hash)) {
      throw new WebError("transaction_not_found", `'${hash}' is not a transaction hash: 0x and 64 hex digits.`);
    }
    const answer = await transactions.get(hash, async () => {
      const shown = await readTransaction(hash as Hex, true);
      if (shown !== null) return shown;
      throw new WebError("transaction_not_found", `The chain does not know a transaction ${hash} (yet).`);
    });
    response.type("json").send(answer);
  };

  const job: RequestHandler = async (request, response) => {
    const jobId = String(request.params.job_id);
    response.type("json").send(await jobs.get(jobId, () => readJob(jobId)));
  };

  const readJob = async (jobId: string): Promise<contract.ChainJob> => {
    const unknown = new ApiError("job_not_found", `There is no job ${quoted(jobId)} on the chain (yet).`);
    const id = fromApiJobId(jobId);
    if (id === null) throw unknown;
    // While the index is being built, what this gateway did itself can still be shown.
    const [row, indexed, stored] = await Promise.all([
      ifIndexed(getJob(reader, id), null),
      ifIndexed(listJobTransactions(reader, id), []),
      findJob(reader, id),
    ]);
    const hashes = [
      ...indexed,
      ...[row?.escrowTx, stored?.escrowTx, stored?.settlementTx, stored?.refundTx].filter((hash) => !!hash),
    ] as Hex[];
    if (hashes.length === 0) throw unknown;
    // Anyone can end a job from a contract of his own that logs megabytes: the others are shown without that transaction.
    const readShown = (hash: Hex) =>
      readTransaction(hash).catch((error) => {
        if (error instanceof RpcTooLong) return null;
        throw error;
      });
    const transactions = await Promise.all([...new Set(hashes)].slice(0, JOB_TRANSACTIONS).map(readShown));
    return {
      id: jobId,
      wallet: row?.wallet ?? stored?.wallet ?? null,
      operator: row?.operator ?? null,
      model: row?.model ?? stored?.model ?? null,
      tier: row?.tier ?? stored?.tier ?? null,
      status: row?.status ?? null,
      ...whyUncharged(row?.status ?? null, row),
      proof_hash: row?.proofHash ?? null,
      credits_charged: row?.creditsCharged ?? 0,
      disputed: row?.disputedAt != null,
      transactions: transactions
        .filter((shown) => shown !== null)
        .toSorted((a, b) => (a.block_number ?? Infinity) - (b.block_number ?? Infinity)),
    };
  };

  const block: RequestHandler = async (request, response) => {
    const number = String(request.params.number);
    const found = /^\d{1,9}$/.test(number) ? await readBlock(rpc, `0x${Number(number).toString(16)}`) : null;
    if (found === null) throw new WebError("not_found", `The chain has no block ${number} (yet).`);
    const events = await listBlockEvents(reader, found.number, BLOCK_EVENTS);
    response.json({ ...found, transactions: transactionsOf(events) } satisfies contract.ChainBlock);
  };

  const address: RequestHandler = async (request, response) => {
    const wanted = String(request.params.address).toLowerCase();
    if (!/^0x[0-9a-f]{40}$/.test(wanted)) {
      throw new WebError("not_found", `'${wanted}' is not an address: 0x and 40 hex digits.`);
    }
    const { before } = request.query;
    const below = before === undefined ? undefined : fromApiJobId(String(before));
    if (below === null) {
      throw new ApiError("invalid_request", "before: must be a job id (job_ and 32 hex digits)", { param: "before" });
    }
    const of = [wanted as Address] as const;
    const held = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: of });
    const waiting = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "claimableOf", args: of });
    const [[balance, sent, tokens, claimable], claimed, account, workers, operators, jobs, history] = await Promise.all(
      [
        rpc.batch<[Hex, Hex, Hex, Hex]>([
          { method: "eth_getBalance", params: [wanted, "latest"] },
          { method: "eth_getTransactionCount", params: [wanted, "latest"] },
          { method: "eth_call", params: [{ to: contracts["Stablecoin"], data: held }, "latest"] },
          { method: "eth_call", params: [{ to: escrow, data: waiting }, "latest"] },
        ]),
        claimedBy(reader, wanted),
        getAccount(reader, wanted),
        listWorkersOf(reader, [wanted]),
        operatorsKnown(),
        listJobsBy(reader, "wallet", { value: wanted, before: below, limit: JOBS_SHOWN + 1 }),
        listHistory(reader, "account", { subject: wanted, limit: EVENTS_SHOWN }),
      ],
    );
    const shownJobs = jobs.slice(0, JOBS_SHOWN);
    const events = await listEventsOfJobs(
      reader,
      shownJobs.map(({ id }) => id),
      JOB_EVENTS,
    );
    response.json({
      address: getAddress(wanted),
      balance_wei: String(BigInt(balance)),
      transactions_sent: Number(sent),
      usdg_units: String(BigInt(tokens)),
      claimable_units: String(BigInt(claimable)),
      claimed_units: String(claimed),
      account: account && showAccount(account),
      workers: workers.flatMap(({ number, signer, owner, payout }) => {
        const roles = Object.entries({ signer, owner, payout }).filter(([, at]) => at.toLowerCase() === wanted);
        return roles.length === 0 ? [] : { number, roles: roles.map(([role]) => role) };
      }),
      operators: operators.flatMap(({ number, admin, signers }) => {
        const roles = [
          ...(admin.toLowerCase() === wanted ? ["admin"] : []),
          ...signers
            .filter(({ signer }) => signer.toLowerCase() === wanted)
            .map(({ removedAt }) => (removedAt === null ? "signer" : "former signer")),
        ];
        return roles.length === 0 ? [] : { number, roles };
      }),
      jobs: shownJobs.map(showJob),
      transactions: transactionsOf(events),
      has_more: jobs.length > JOBS_SHOWN,
      history: history.map(showEvent),
    } satisfies contract.ChainAddress);
  };

  const readLatest = sharedRead(async () => {
    const events = await listLatestEvents(reader, { limit: LATEST_EVENTS });
    const ids = [...new Set(events.flatMap(({ jobId }) => jobId ?? []))].slice(0, LATEST_JOBS);
    return {
      jobs: (await listJobsNamed(reader, ids)).map(showJob),
      transactions: transactionsOf(events).slice(0, LATEST_TRANSACTIONS),
    };
  });
  /** A page begins below the position that `before` names, and ends before a transaction that might be cut. */
  const transactionsPage: RequestHandler = async (request, response) => {
    const events = await listLatestEvents(reader, { limit: LATEST_EVENTS, before: positionOf(request) });
    const groups = [...Map.groupBy(events, ({ txHash }) => txHash).values()];
    const isWhole = events.length < LATEST_EVENTS;
    const shown = groups.slice(
      0,
      isWhole ? TRANSACTIONS_SHOWN : Math.min(TRANSACTIONS_SHOWN, Math.max(1, groups.length - 1)),
    );
    const hasMore = !isWhole || shown.length < groups.length;
    response.json({
      data: transactionsOf(shown.flat()),
      next: hasMore ? (shown.at(-1)?.at(-1)?.position ?? null) : null,
    });
  };
  const jobsPage: RequestHandler = async (request, response) => {
    const events = await listLatestEvents(reader, { limit: LATEST_EVENTS, before: positionOf(request) });
    const locks = events.filter(({ kind }) => kind === "job.locked");
    const shown = locks.slice(0, JOBS_SHOWN);
    const last = shown.length < locks.length ? shown.at(-1) : events.at(-1);
    const jobs = await listJobsNamed(
      reader,
      shown.flatMap(({ jobId }) => jobId ?? []),
    );
    const hasMore = shown.length < locks.length || events.length === LATEST_EVENTS;
    response.json({ data: jobs.map(showJob), next: hasMore ? (last?.position ?? null) : null });
  };
  const latest: RequestHandler = async (_request, response) => {
    response.json({ head_block: head.block.number, ...(await readLatest()) } satisfies contract.Latest);
  };

  /** 64 hex digits are a transaction, a block, or the proof hash of jobs. */
  const find: RequestHandler = async (request, response) => {
    const hash = String(request.params.hash).toLowerCase() as Hex;
    if (!/^0x[0-9a-f]{64}$/.test(hash))
      throw new WebError("not_found", `'${hash}' is not a hash: 0x and 64 hex digits.`);
    const [transaction, found, jobs] = await Promise.all([
      rpc.request<object | null>("eth_getTransactionByHash", [hash], NODE_MS, OWN_BYTES),
      readBlock(rpc, hash),
      listJobsBy(reader, "proof_hash", { value: hash, limit: LATEST_JOBS }),
    ]);
    response.json({
      transaction: transaction !== null,
      block: found?.number ?? null,
      jobs: jobs.map(showJob),
    } satisfies contract.FoundHash);
  };

  return Router()
    .get("/tx/:hash", transaction)
    .get("/explorer/jobs/:job_id", job)
    .get("/explorer/blocks/:number", block)
    .get("/explorer/addresses/:address", address)
    .get("/explorer/latest", latest)
    .get("/explorer/transactions", transactionsPage)
    .get("/explorer/jobs", jobsPage)
    .get("/explorer/find/:hash", find)
    .use(nodeErrorHandler);
}

/** The position at which a page of a list begins; null for the newest. */
function positionOf({ query: { before } }: Request): number | null {
  if (before === undefined) return null;
  if (!/^\d{1,15}$/.test(String(before))) {
    throw new ApiError("invalid_request", "before: must be the `next` of an earlier page", { param: "before" });
  }
  return Number(before);
}

const showAccount = (account: AccountRow): contract.ChainAddress["account"] => ({
  number: account.number,
  free: account.free,
  escrowed: account.escrowed,
  deposited: account.deposited,
  withdrawn: account.withdrawn,
  charged: account.charged,
  compensated: account.compensated,
  disputes: account.disputes,
  operator: account.operator,
  daily_limit: account.dailyLimit,
  frozen: account.frozen,
});

/** A refusal by the node itself, or an answer that is too long, is no fault of the gateway's and no outage. */
const nodeErrorHandler: ErrorRequestHandler = (error, _request, _response, next) => {
  if (error instanceof RpcTooLong) {
    next(
      new WebError("too_long", "The chain's answer is longer than this explorer reads; ask a node of your own.", error),
    );
  } else if (error instanceof RpcError) {
    next(new WebError("node_refused", `The service's chain node refused the request: ${error.message}`, error));
  } else next(error);
};

type RawBlock = {
  number: Hex;
  hash: Hex;
  parentHash: Hex;
  timestamp: Hex;
  miner: Hex;
  gasUsed: Hex;
  gasLimit: Hex;
  baseFeePerGas?: Hex;
  transactions: Hex[];
};

/** A block by its number or hash, with how many transactions it has; null if the chain has none. */
async function readBlock(rpc: Rpc, which: Hex): Promise<Omit<contract.ChainBlock, "transactions"> | null> {
  const method = which.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const block = await rpc.request<RawBlock | null>(method, [which, false], NODE_MS, BLOCK_BYTES);
  if (block === null) return null;
  return {
    number: Number(block.number),
    hash: block.hash,
    parent_hash: block.parentHash,
    timestamp: Number(block.timestamp),
    producer: getAddress(block.miner),
    gas_used: Number(block.gasUsed),
    gas_limit: Number(block.gasLimit),
    base_fee_wei: block.baseFeePerGas === undefined ? null : String(BigInt(block.baseFeePerGas)),
    transaction_count: block.transactions.length,
  };
}

const NODE_MS = 5_000;
/** The most bytes of the receipt of a call of our contracts: that of a full batch has a third of it. */
const OWN_BYTES = 2 * 1024 * 1024;
/** The most bytes of any other answer of a node. Anyone can name a transaction of their own that logs megabytes. */
const FOREIGN_BYTES = 256 * 1024;
/** The most bytes of a block with the hashes of its transactions: some 7,000 of them. */
const BLOCK_BYTES = 512 * 1024;
/** Transactions of a job that are read: its disputes and their votes can make more. */
const JOB_TRANSACTIONS = 50;

type ReadOptions = { ours: ReadonlySet<string>; escrow: Address; withInput: boolean };

/**
 * A transaction as the node shows it; numbers as numbers, the rest as it is. Decoding is the reader's own affair. `reverted`: what the escrow answers
 * to a reverted call of it, if anything.
 */
async function transactionOf(
  rpc: Rpc,
  hash: Hex,
  { ours, escrow, withInput }: ReadOptions,
): Promise<contract.ChainTransaction | null> {
  const sent = await rpc.request<RawTransaction | null>("eth_getTransactionByHash", [hash], NODE_MS, OWN_BYTES);
  if (sent === null) return null;
  // Only a call of our contracts may have the larger receipt: they do not log megabytes.
  const isOurs = sent.to !== null && ours.has(sent.to.toLowerCase());
  const bytes = isOurs ? OWN_BYTES : FOREIGN_BYTES;
  const receipt = await rpc.request<RawReceipt | null>("eth_getTransactionReceipt", [hash], NODE_MS, bytes);
  if (receipt === null) {
    const { from, to } = sent;
    const unknown = { block_number: null, timestamp: null, gas_used: null, fee_wei: null, reverted: null };
    const place = { nonce: Number(sent.nonce), position: null, gas_limit: Number(sent.gas), gas_price_wei: null };
    return { hash, status: "pending", from, to, input: isOurs ? sent.input : null, ...unknown, ...place, logs: [] };
  }
  const success = receipt.status === "0x1";
  const failedCall = !success && receipt.to?.toLowerCase() === escrow.toLowerCase();
  const block = await rpc.request<{ timestamp: Hex }>(
    "eth_getBlockByNumber",
    [receipt.blockNumber, false],
    NODE_MS,
    BLOCK_BYTES,
  );
  return {
    hash,
    status: success ? "success" : "reverted",
    from: receipt.from,
    to: receipt.to,
    block_number: Number(receipt.blockNumber),
    timestamp: Number(block.timestamp),
    gas_used: Number(receipt.gasUsed),
    fee_wei: String(feeOf(receipt)),
    nonce: Number(sent.nonce),
    position: Number(receipt.transactionIndex),
    gas_limit: Number(sent.gas),
    gas_price_wei: String(BigInt(receipt.effectiveGasPrice)),
    input: failedCall || (withInput && isOurs) ? sent.input : null,
    reverted: failedCall ? await repeat(rpc, sent, receipt.blockNumber) : null,
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
async function repeat(rpc: Rpc, sent: RawTransaction, minedIn: Hex): Promise<{ data: Hex | null } | null> {
  const { from, to, input, value, gas } = sent;
  if (BigInt(gas) > MOST_GAS || repeating >= REPEATED_AT_ONCE) return null;
  const before = `0x${(BigInt(minedIn) - 1n).toString(16)}`;
  repeating += 1;
  try {
    await rpc.request("eth_call", [{ from, to, input, value, gas }, before], NODE_MS);
    // The call succeeds on the state before its block, so a transaction before it in its own block made it fail.
    return { data: null };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (typeof error.data === "string") return { data: error.data as Hex };
    // Anything else, a state that the node has forgotten for one, is no answer of the contract.
    return /revert/i.test(error.message) ? { data: "0x" } : null;
  } finally {
    repeating -= 1;
  }
}
