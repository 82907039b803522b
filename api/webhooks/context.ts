import type pg from "pg";
import type { Logger } from "pino";
import type { EndpointPolicy } from "../outbound/address.ts";
import type { Cipher } from "../store/cipher.ts";

/** The newest block as the gateway knows it. */
export type ChainHead = {
  readonly block: { number: number; timestamp: number };
  refresh(): Promise<{ number: number; timestamp: number }>;
};

/** What the functions on a wallet's webhooks need. */
export type WebhookContext = {
  pool: pg.Pool;
  /** Encrypts secrets; made for this purpose only. */
  cipher: Cipher;
  policy: EndpointPolicy;
  head: ChainHead;
  logger: Logger;
  /** Something is due: the dispatcher looks at once instead of at its next round. */
  wake: () => void;
};

/** Newest block, asked for now: what happened until this moment is before it. With the node out of reach, the last one known. */
export async function blockNow({ head, logger }: WebhookContext): Promise<{ number: number; timestamp: number }> {
  try {
    return await head.refresh();
  } catch (error) {
    logger.warn(
      { err: error, block: head.block.number },
      "the newest block cannot be asked for: the last known one counts",
    );
    return head.block;
  }
}
