import {
  createWalletClient,
  encodeFunctionData,
  formatEther,
  type Hex,
  parseEventLogs,
  type TransactionReceipt,
  type WalletClient,
} from "viem";
import { decodeRevert } from "../../protocol/events.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import type { Logger } from "../log.ts";
import type { Chain } from "./connect.ts";
import type { Identity } from "./identity.ts";

/** The worker's account cannot pay for a transaction it should send. */
export class NoGas extends Error {
  override name = "NoGas";
  readonly balance: string;
  readonly needed: string;

  constructor(balance: bigint, needed: bigint) {
    super("the worker's account has too little gas money");
    this.balance = formatEther(balance);
    this.needed = formatEther(needed);
  }
}

/** Gas of a batch: ITEM_GAS must be left before every item, and no item of a worker uses more than the ceiling. */
const ITEM_GAS = 700_000n;
const ITEM_CEILING = 300_000n;
const BASE_GAS = 100_000n;
const RECEIPT_MS = 30_000;

/**
 * Sends the worker's own transactions, one at a time. The nonce is the chain's count of mined ones: a transaction that did not get
 * mined is replaced by the next, at a higher fee, and never piles up behind itself.
 */
export class Sender {
  readonly #chain: Chain;
  readonly #wallet: WalletClient;
  readonly #identity: Identity;
  readonly #log: Logger;
  #last: { nonce: number; maxFeePerGas: bigint; maxPriorityFeePerGas: bigint } | undefined;
  #busy: Promise<unknown> = Promise.resolve();

  constructor(chain: Chain, identity: Identity, log: Logger) {
    this.#chain = chain;
    this.#identity = identity;
    this.#log = log;
    this.#wallet = createWalletClient({
      chain: chain.client.chain,
      transport: nodeTransport(chain.rpcUrl),
      account: identity.account,
    });
  }

  /** Runs calls of the escrow in one batch; each succeeds or fails alone. Returns the receipt; throws NoGas. */
  execute(items: readonly Hex[]): Promise<TransactionReceipt> {
    const run = this.#busy.then(() => this.#execute(items));
    // The next batch follows this one also when it failed; the failure is its caller's.
    this.#busy = run.catch(() => undefined);
    return run;
  }

  async #execute(items: readonly Hex[]): Promise<TransactionReceipt> {
    const { client, deployment } = this.#chain;
    const { address } = this.#identity;
    const [nonce, balance, market] = await Promise.all([
      client.getTransactionCount({ address, blockTag: "latest" }),
      client.getBalance({ address }),
      client.estimateFeesPerGas(),
    ]);
    const fees = this.#fees(nonce, market);
    const gas = BASE_GAS + ITEM_GAS + ITEM_CEILING * BigInt(items.length);
    if (balance < gas * fees.maxFeePerGas) throw new NoGas(balance, gas * fees.maxFeePerGas);
    const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "execute", args: [items] });
    const to = deployment.contracts.InferenceEscrow;
    const chain = client.chain ?? null;
    const hash = await this.#wallet.sendTransaction({
      account: this.#identity.account,
      chain,
      to,
      data,
      gas,
      nonce,
      ...fees,
    });
    this.#last = { nonce, ...fees };
    this.#log.info({ tx: hash, nonce, items: items.length }, "transaction sent");
    const receipt = await receiptOf(client, hash, { timeout: RECEIPT_MS });
    const failed = parseEventLogs({ abi: inferenceEscrowAbi, eventName: "BatchItemFailed", logs: receipt.logs });
    if (receipt.status !== "success" || failed.length > 0) {
      const reasons = failed.map((log) => ({
        item: Number(log.args.index),
        reason: decodeRevert(log.args.reason).name,
      }));
      this.#log.warn(
        { tx: receipt.transactionHash, status: receipt.status, failed: reasons },
        "the escrow refused calls of the transaction",
      );
    }
    return receipt;
  }

  /** The market's fees, or a quarter above those of an unmined transaction with this nonce. */
  #fees(nonce: number, market: { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }) {
    const last = this.#last?.nonce === nonce ? this.#last : undefined;
    const above = (fee: bigint | undefined): bigint => ((fee ?? 0n) * 5n) / 4n;
    const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
    return {
      maxFeePerGas: max(market.maxFeePerGas, above(last?.maxFeePerGas)),
      maxPriorityFeePerGas: max(market.maxPriorityFeePerGas, above(last?.maxPriorityFeePerGas)),
    };
  }
}
