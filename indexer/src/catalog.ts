/** ModelCatalog: listings, announced prices, retirements. */

import { type Tier, tierName } from "../../protocol/tiers.ts";
import { model } from "../ponder.schema.ts";
import { type Context, ponder } from "../registry.ts";
import { type ChainEvent, place, record } from "./record.ts";

type ModelEvent = ChainEvent & { args: { model: number; sequence: number } };

async function append(
  context: Context,
  event: ModelEvent,
  kind: string,
  derived: { model: string; tier?: Tier },
): Promise<void> {
  const { model: number, sequence } = event.args;
  const about = { kind: `model.${kind}`, subject: number, ordinal: sequence };
  await record(context, event, { ...about, derived: { ...derived, model_number: number } });
}

ponder.on("ModelCatalog:ModelListed", async ({ event, context }) => {
  const { model: number, sequence, listing } = event.args;
  const { id, parameters, ownedBy, contextWindow, creditsPerRequest } = listing;
  const tier = tierName(listing.tier);
  await context.db.insert(model).values({
    number,
    id,
    parameters,
    ownedBy,
    tier,
    contextWindow,
    creditsPerRequest,
    creditsPerThousandTokens: listing.creditsPer1kTokens,
    sequence,
    createdAt: place(event).blockTime,
  });
  await append(context, event, "listed", { model: id, tier });
});

ponder.on("ModelCatalog:PricesScheduled", async ({ event, context }) => {
  const { model: number, sequence, creditsPerRequest, creditsPer1kTokens, effectiveAt } = event.args;
  const now = place(event).blockTime;
  const row = await context.db.update(model, { number }).set((before) => {
    // As the contract does: an earlier announcement that took effect is the price now; one that did not is replaced.
    const inForce = before.pricesChangeAt !== null && before.pricesChangeAt <= now;
    return {
      creditsPerRequest: (inForce ? before.nextCreditsPerRequest : null) ?? before.creditsPerRequest,
      creditsPerThousandTokens:
        (inForce ? before.nextCreditsPerThousandTokens : null) ?? before.creditsPerThousandTokens,
      nextCreditsPerRequest: creditsPerRequest,
      nextCreditsPerThousandTokens: creditsPer1kTokens,
      pricesChangeAt: effectiveAt,
      sequence,
    };
  });
  await append(context, event, "prices_scheduled", { model: row.id });
});

ponder.on("ModelCatalog:RetirementScheduled", async ({ event, context }) => {
  const { model: number, sequence, retiresAt } = event.args;
  const row = await context.db.update(model, { number }).set({ retiresAt, sequence });
  await append(context, event, "retirement_scheduled", { model: row.id });
});
