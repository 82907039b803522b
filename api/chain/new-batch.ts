/** A batch of operations on its way to the chain: signed as one transaction, and on record before anybody else sees it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import type { NewJob } from "../store/new-jobs.ts";
import { batchCalldata, batchGas } from "./operations.ts";
import type { OutboxRow, Variant } from "./outbox.ts";
import type { Waiting } from "./submission.ts";
import { type SigningContext, signVariant } from "./transaction.ts";

/** Pause after a batch could not be recorded. */
const UNRECORDED_MS = 500;
/** PostgreSQL's code for a row that exists already. */
const UNIQUE_VIOLATION = "23505";

/** A transaction with its first and only variant. */
export type NewBatch = OutboxRow & { variants: [Variant] };

/** The operations as one transaction with this nonce. */
export async function signBatch(
  context: SigningContext,
  nonce: number,
  items: readonly Waiting[],
): Promise<{ row: NewBatch; calldata: Hex }> {
  const operations = items.map((item) => item.operation);
  const calldata = batchCalldata(operations);
  // A batch that ran out of gas as a whole is repeated with more.
  const factor = 2n ** BigInt(Math.max(...items.map((item) => item.tries)));
  const gas = batchGas(operations) * factor;
  const variant = await signVariant(context, nonce, gas, calldata);
  return { row: { nonce, gas, items: operations, variants: [variant] }, calldata };
}

/**
 * Writes the transaction and the rows of its new jobs before anything is broadcast. A write whose answer is lost may have happened, so
 * the very same row is tried until the database says. `taken`: another process recorded this nonce.
 */
export async function recordBatch(
  { outbox, logger, stopping }: SigningContext,
  row: NewBatch,
  jobs: NewJob[],
): Promise<"recorded" | "taken" | "stopping"> {
  const [variant] = row.variants;
  while (!stopping()) {
    try {
      await outbox.insert(row, variant, jobs);
      return "recorded";
    } catch (error) {
      if ((error as { code?: string }).code === UNIQUE_VIOLATION) {
        // Not known: asked again with the next try.
        const known = await outbox.variants(row.nonce).catch(() => null);
        if (known?.some(({ hash }) => hash === variant.hash)) return "recorded";
        if (known !== null) {
          logger.error({ nonce: row.nonce }, "another process recorded this nonce: does it have the same signer?");
          return "taken";
        }
      }
      logger.error({ err: error }, "a batch could not be recorded yet; nothing is sent before it is");
      await sleep(UNRECORDED_MS);
    }
  }
  return "stopping";
}
