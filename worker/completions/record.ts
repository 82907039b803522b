import type { Address, Hex } from "viem";
import { z } from "zod";
import { assignmentSchema, completionSchema, finishReasonSchema } from "../../protocol/dispatch.ts";

const hex = z.custom<Hex>((v) => typeof v === "string" && /^0x[0-9a-f]+$/.test(v), "not hex");
const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "not an address");

/** The signatures under which a job was taken: with them anyone can record the acknowledgement on chain. */
const papersSchema = z.object({
  assignment: assignmentSchema,
  /** The gateway's signing key. */
  gateway: address,
  byGateway: hex,
  /** This worker's Acknowledgement. */
  byWorker: hex,
});
export type Papers = z.infer<typeof papersSchema>;

/** A finished job as it lies on disk until the chain has it. */
export const recordSchema = z.object({
  version: z.literal(1),
  papers: papersSchema,
  text: z.string(),
  completion: completionSchema,
  signature: hex,
  finishReason: finishReasonSchema,
  /** When the worker finished, chain time in Unix seconds: up to a block later than the signed time, which is that of a block. */
  finishedAt: z.number(),
});
export type CompletionRecord = z.infer<typeof recordSchema>;
/** The same without the answer: what is kept in memory. */
export type CompletionHead = Omit<CompletionRecord, "text">;
