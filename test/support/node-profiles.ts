/**
 * How real nodes refuse, limit and lag, for {@link NodeProxy}. Built from these sources and pages, read in November 2026:
 *
 * - geth 1.16: core/txpool/errors.go and validation.go, rpc/errors.go (batch limit 1,000), node defaults (`--rpc.txfeecap` 1 ether), EIP-7825.
 * - Nethermind 1.34 (before its messages became geth's): TxPool/AcceptTxResult.cs, TxErrorMessages.cs, JsonRpcConfig (batches of 1,024, 20,000 logs).
 * - Erigon 3.1: txnprovider/txpool/txpoolcfg/txpoolcfg.go (DiscardReason), rpc/server.go (`--rpc.batch.limit` 100).
 * - Besu 25: RpcErrorType.java (`--rpc-max-logs-range` 5,000, `--rpc-http-max-batch-size` 1,024, `--rpc-tx-feecap` 1 ether).
 * - Infura: geth behind a gateway that limits requests and log ranges ("range N exceeds limit of 10000"), several nodes behind one address.
 * - The sequencer of an OP Stack rollup: op-geth 1.101 replicas behind proxyd (errors.go, rpc.go): batches of 20, sends go to another machine
 *   than reads, and no replica shows what waits there.
 */
export type Refused = { code: number; message: string };

export type NodeProfile = {
  name: string;
  /** What it says of a transaction that it does not take. */
  words: {
    nonceTooLow: (count: number, nonce: number) => Refused;
    known: Refused;
    replacement: Refused;
    belowBaseFee: Refused;
    funds: Refused;
  };
  /** Whether it has eth_sendRawTransactionSync (EIP-7966). */
  sync: boolean;
  /** Most that a transaction may cost, wei, and most gas of one; null for no limit. */
  costCap: { wei: bigint; refused: Refused } | null;
  gasCap: { gas: bigint; refused: Refused } | null;
  /** Whether it refuses a nonce above the sender's next one, instead of keeping it. */
  refusesGaps: boolean;
  /** Transactions of a sender that it keeps; geth keeps one of an account that has delegated (EIP-7702). Null for more than anybody sends. */
  mostPending: number | null;
  /** Most calls of a batch, and how it refuses more: a JSON-RPC error, an HTTP status, or a closed connection. */
  batch: { most: number; form: "error" | "413" | "drop"; refused: Refused } | null;
  /** Most blocks and results of eth_getLogs. */
  logs: { blocks: number; results: number; refused: Refused } | null;
  /** Whether it knows the block tag `pending`. */
  pendingTag: boolean;
  /** Whether it knows the block tag `finalized`. */
  finalTag: boolean;
  /** Whether it shows transactions that are not mined. */
  showsPool: boolean;
  /** Data of a revert: as it is, with a word in front, or left out. */
  revert: "plain" | "prefixed" | "bare";
  /** Share of requests that are refused as too many, and the form of that. */
  limited: { share: number; form: "429" | "error" | "text" | "internal" } | null;
  /** Share of requests that a replica answers which is so many blocks behind. */
  behind: { share: number; blocks: number } | null;
  /** Blocks after which receipts and transactions are found. */
  receiptsAfter: number;
};

const EIP_7825 = 16_777_216n;
const ETHER = 10n ** 18n;
const refused = (message: string, code = -32000): Refused => ({ code, message });

const geth: NodeProfile = {
  name: "geth",
  words: {
    nonceTooLow: (count, nonce) => refused(`nonce too low: next nonce ${count}, tx nonce ${nonce}`),
    known: refused("already known"),
    replacement: refused("replacement transaction underpriced"),
    belowBaseFee: refused("transaction underpriced: gas tip cap 0, minimum needed 1"),
    funds: refused("insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1"),
  },
  sync: true,
  costCap: { wei: ETHER, refused: refused("tx fee (1.72 ether) exceeds the configured cap (1.00 ether)") },
  gasCap: { gas: EIP_7825, refused: refused("transaction gas limit too high (cap: 16777216, tx: 20000000)") },
  refusesGaps: false,
  mostPending: null,
  batch: { most: 1_000, form: "error", refused: refused("batch too large", -32600) },
  logs: null,
  pendingTag: true,
  finalTag: true,
  showsPool: true,
  revert: "plain",
  limited: null,
  behind: null,
  receiptsAfter: 0,
};

const nethermind: NodeProfile = {
  ...geth,
  name: "nethermind",
  words: {
    nonceTooLow: (count, nonce) => refused(`OldNonce, Current nonce: ${count}, nonce of rejected tx: ${nonce}`, -32010),
    known: refused("AlreadyKnown", -32010),
    replacement: refused("ReplacementNotAllowed", -32010),
    belowBaseFee: refused("FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 2", -32010),
    funds: refused("InsufficientFunds, Account balance: 0, cumulative cost: 15000000000000000", -32010),
  },
  sync: false,
  costCap: null,
  gasCap: {
    gas: EIP_7825,
    refused: refused("Invalid, TxGasLimitCapExceeded: Gas limit 20000000 exceeded cap of 16777216.", -32010),
  },
  refusesGaps: true,
  batch: { most: 1_024, form: "error", refused: refused("Batch size limit exceeded", -32005) },
  logs: {
    blocks: Number.POSITIVE_INFINITY,
    results: 20_000,
    refused: refused("Too many logs requested. Max logs per response is 20000.", -32005),
  },
  revert: "prefixed",
};

const erigon: NodeProfile = {
  ...geth,
  name: "erigon",
  words: {
    nonceTooLow: () => refused("nonce too low"),
    known: refused("existing txn with same hash"),
    replacement: refused("could not replace existing tx"),
    belowBaseFee: refused("fee too low"),
    funds: refused("insufficient funds"),
  },
  sync: false,
  gasCap: { gas: EIP_7825, refused: refused("gas limit is too high") },
  batch: {
    most: 100,
    form: "drop",
    refused: refused("batch limit 100 exceeded (can increase by --rpc.batch.limit)"),
  },
  logs: {
    blocks: Number.POSITIVE_INFINITY,
    results: 20_000,
    refused: refused("query returns too many logs, narrow your filter: 20000"),
  },
};

const besu: NodeProfile = {
  ...geth,
  name: "besu",
  words: {
    nonceTooLow: () => refused("Nonce too low", -32001),
    known: refused("Known transaction"),
    replacement: refused("Replacement transaction underpriced"),
    belowBaseFee: refused("Gas price below current base fee", -32009),
    funds: refused("Upfront cost exceeds account balance", -32004),
  },
  sync: false,
  costCap: { wei: ETHER, refused: refused("Transaction fee cap exceeded") },
  gasCap: { gas: EIP_7825, refused: refused("Transaction gas limit exceeds block gas limit", -32005) },
  batch: { most: 1_024, form: "error", refused: refused("Number of requests exceeds max batch size", -32005) },
  logs: {
    blocks: 5_000,
    results: Number.POSITIVE_INFINITY,
    refused: refused("Requested range exceeds maximum RPC range limit", -32005),
  },
  pendingTag: false,
};

const infura: NodeProfile = {
  ...geth,
  name: "infura",
  sync: false,
  batch: { most: 10, form: "413", refused: refused("batch of 11 exceeds the limit of 10") },
  logs: { blocks: 10_000, results: 10_000, refused: refused("range 10001 exceeds limit of 10000", -32602) },
  limited: { share: 0.03, form: "429" },
  behind: { share: 0.3, blocks: 2 },
};

const sequencer: NodeProfile = {
  ...geth,
  name: "sequencer",
  words: { ...geth.words, nonceTooLow: () => refused("nonce too low") },
  sync: false,
  batch: { most: 20, form: "error", refused: refused("too many RPC calls in batch request", -32014) },
  logs: { blocks: 2_000, results: 20_000, refused: refused("backend response too large", -32020) },
  pendingTag: false,
  showsPool: false,
  revert: "bare",
  limited: { share: 0.02, form: "error" },
  behind: { share: 0.5, blocks: 1 },
  receiptsAfter: 1,
};

/** By name. */
export const NODE_PROFILES = { geth, nethermind, erigon, besu, infura, sequencer } as const satisfies Record<
  string,
  NodeProfile
>;
