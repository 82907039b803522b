/** BatchExecutor: items that reverted alone. */
import { ponder } from "ponder:registry";
import { batchItemFailure } from "ponder:schema";
import { type Abi, type Hex, toFunctionSelector } from "viem";
import { decodeRevert } from "../../protocol/events.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { place } from "../lib/event.ts";

const functions = new Map<Hex, string>();
for (const item of inferenceEscrowAbi as Abi) {
  if (item.type === "function") functions.set(toFunctionSelector(item), item.name);
}

// No row in protocol_event: a failed item concerns its gateway alone, and has no number that a reorganisation would keep.
ponder.on("InferenceEscrow:BatchItemFailed", async ({ event, context }) => {
  const { index, selector, reason } = event.args;
  const { position, blockTime, txHash } = place(event);
  const { name } = decodeRevert(reason);
  await context.db.insert(batchItemFailure).values({
    txHash,
    item: Number(index),
    sender: event.transaction.from,
    selector,
    call: functions.get(selector) ?? null,
    error: name === "Unknown" ? null : name,
    reason,
    position,
    blockTime,
  });
});
