/** Models, and the workers that host them. */
import { onchainTable, primaryKey } from "ponder";
import type { Tier } from "../../protocol/tiers.ts";

export const model = onchainTable("model", (t) => ({
  number: t.integer().primaryKey(),
  /** Public model id. */
  id: t.text().notNull(),
  parameters: t.text().notNull(),
  ownedBy: t.text().notNull(),
  tier: t.text().$type<Tier>().notNull(),
  contextWindow: t.int8({ mode: "number" }).notNull(),
  creditsPerRequest: t.integer().notNull(),
  creditsPerThousandTokens: t.integer().notNull(),
  /** Announced prices; in force, and then the prices, from `pricesChangeAt` on. */
  nextCreditsPerRequest: t.integer(),
  nextCreditsPerThousandTokens: t.integer(),
  pricesChangeAt: t.int8({ mode: "number" }),
  createdAt: t.int8({ mode: "number" }).notNull(),
  retiresAt: t.int8({ mode: "number" }),
  sequence: t.int8({ mode: "number" }).notNull(),
}));

export const worker = onchainTable("worker", (t) => ({
  signer: t.hex().primaryKey(),
  /** Id on chain. */
  number: t.int8({ mode: "number" }).notNull(),
  owner: t.hex().notNull(),
  payout: t.hex().notNull(),
  endpoint: t.text().notNull(),
  /** Millionths of an SVC. */
  stake: t.int8({ mode: "bigint" }).notNull(),
  /** Null: bonded. */
  unbondsAt: t.int8({ mode: "number" }),
  registeredAt: t.int8({ mode: "number" }).notNull(),
  registeredTx: t.hex().notNull(),
  sequence: t.int8({ mode: "number" }).notNull(),
}));

/** A row for each model that a worker hosts now. The registry does not ask the catalog: a model may be unknown there. */
export const hosting = onchainTable(
  "hosting",
  (t) => ({ worker: t.hex().notNull(), model: t.integer().notNull() }),
  (table) => ({
    pk: primaryKey({ columns: [table.worker, table.model] }),
  }),
);
