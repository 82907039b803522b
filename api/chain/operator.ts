import type { Logger } from "pino";
import type { Address } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { UNITS_PER_CREDIT } from "../../protocol/money.ts";
import { payouts } from "../../protocol/pricing.ts";
import type { Rpc } from "./rpc.ts";

const LOOK_MS = 5_000;

/**
 * The parts of the operator's state that can change while a gateway runs: the gateway's key can be removed, and the operator can be
 * stopped.
 */
type Standing = { inOffice: boolean; stopped: boolean };

/** `removed`: called once, when the key is found to be removed. From then on no job is taken until the process is started anew. */
type Parts = { rpc: Pick<Rpc, "client">; escrow: Address; signer: Address; logger: Logger; removed: () => void };

/** The operator that this gateway's key signs for. Wallets choose it, and its jobs can be ended by each of its signers. */
export class Operator {
  readonly id: number;
  readonly #parts: Parts;
  #standing: Standing = { inOffice: true, stopped: false };
  #timer: NodeJS.Timeout | undefined;

  private constructor(id: number, parts: Parts) {
    this.id = id;
    this.#parts = parts;
  }

  /** Finds the operator of a key and looks at it from then on. Rejects with what to do when the key signs for none. */
  static async find(parts: Parts): Promise<Operator> {
    const { rpc, escrow, signer, logger } = parts;
    const [id, removedAt] = await signerOf(rpc, escrow, signer);
    const remedy = "have the operator's admin add it (rotateSigners), or set another GATEWAY_PRIVATE_KEY";
    if (id === 0) throw new Error(`The key ${signer} signs for no operator of the escrow ${escrow}: ${remedy}.`);
    if (removedAt !== 0) {
      const when = new Date(removedAt * 1000).toISOString();
      throw new Error(`The key ${signer} was removed from the signers of operator ${id} at ${when}: ${remedy}.`);
    }
    const operator = new Operator(id, parts);
    await operator.refresh();
    operator.#timer = setInterval(() => {
      operator.refresh().catch((error) => logger.warn({ err: error }, "the operator's standing could not be read"));
    }, LOOK_MS).unref();
    return operator;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Why the escrow takes no new locks of this gateway; null if it does. Open jobs are ended either way, as far as the key is in office. */
  get mayNotLock(): string | null {
    if (!this.#standing.inOffice) return `this gateway's key signs for operator ${this.id} no more`;
    return this.#standing.stopped ? `operator ${this.id} is stopped on the settlement contract` : null;
  }

  /** Whether the gateway's key signs for its operator. */
  get inOffice(): boolean {
    return this.#standing.inOffice;
  }

  /** The operator's share of a charge, by the fee in force: 0.05 is 5 %. */
  async part(): Promise<number> {
    const { rpc, escrow } = this.#parts;
    const terms = { address: escrow, abi: inferenceEscrowAbi } as const;
    const [feeBps, operatorShare] = await Promise.all([
      rpc.client.readContract({ ...terms, functionName: "feeBps" }),
      rpc.client.readContract({ ...terms, functionName: "operatorShare" }),
    ]);
    return Number(payouts(1, { feeBps, operatorShare }).operatorUnits) / Number(UNITS_PER_CREDIT);
  }

  /** Asks the chain. */
  async refresh(): Promise<void> {
    const { rpc, escrow, signer, logger, removed } = this.#parts;
    const contract = { address: escrow, abi: inferenceEscrowAbi } as const;
    const [[, removedAt], stoppedOperators] = await Promise.all([
      signerOf(rpc, escrow, signer),
      rpc.client.readContract({ ...contract, functionName: "stoppedOperators" }),
    ]);
    const before = this.mayNotLock;
    // One bit an operator, from the lowest.
    const stopped = ((stoppedOperators >> BigInt(this.id - 1)) & 1n) === 1n;
    const inOffice = this.#standing.inOffice && removedAt === 0;
    const isRemoved = this.#standing.inOffice && !inOffice;
    this.#standing = { inOffice, stopped };
    if (isRemoved) removed();
    const now = this.mayNotLock;
    if (now === before) return;
    if (now !== null) logger.error({ operator: this.id, signer }, `no jobs are taken: ${now}`);
    else logger.info({ operator: this.id }, "the operator may lock again: jobs are taken");
  }
}

const signerOf = (rpc: Parts["rpc"], escrow: Address, signer: Address) =>
  rpc.client.readContract({ address: escrow, abi: inferenceEscrowAbi, functionName: "signerOf", args: [signer] });
