import type pg from "pg";
import { pino } from "pino";
import { createPublicClient, http } from "viem";
import { Cipher } from "../../../api/store/cipher.ts";
import type { WebhookContext } from "../../../api/webhooks/context.ts";
import type { Stack } from "../../support/stack.ts";

/** What the web application's routes hand to the functions of api/webhooks: here against a stack from outside its gateway. */
export function contextOf(stack: Stack, pool: pg.Pool): WebhookContext {
  const reader = createPublicClient({ transport: http(stack.info.rpc_url) });
  const head = { block: { number: 0, timestamp: 0 } };
  const refresh = async () => {
    const { number, timestamp } = await reader.getBlock();
    head.block = { number: Number(number), timestamp: Number(timestamp) };
    return head.block;
  };
  return {
    pool,
    cipher: new Cipher("00".repeat(32), "webhook secrets"),
    policy: { allowLocal: true },
    head: {
      get block() {
        return head.block;
      },
      refresh,
    },
    logger: pino({ level: "silent" }),
    wake: () => {},
  };
}
