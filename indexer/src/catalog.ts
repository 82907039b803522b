/** ModelCatalog: listings, announced prices, retirements. */
import { ponder } from "ponder:registry";
import { model } from "ponder:schema";
import { tierName } from "../../protocol/tiers.ts";
import { place, record } from "../lib/event.ts";

ponder.on("ModelCatalog:ModelListed", async ({ event, context }) => {
  const { model: number, sequence, listing } = event.args;
  const tier = tierName(listing.tier);
  await context.db.insert(model).values({
    number,
    id: listing.id,
    parameters: listing.parameters,
    ownedBy: listing.ownedBy,
    tier,
    contextWindow: listing.contextWindow,
    creditsPerRequest: listing.creditsPerRequest,
    creditsPerThousandTokens: listing.creditsPer1kTokens,
    createdAt: place(event).blockTime,
    sequence,
  });
  await record(context, event, {
    kind: "model.listed",
    subject: number,
    ordinal: sequence,
    derived: { model: listing.id, model_number: number, tier },
  });
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
  await record(context, event, {
    kind: "model.prices_scheduled",
    subject: number,
    ordinal: sequence,
    derived: { model: row.id, model_number: number },
  });
});

ponder.on("ModelCatalog:RetirementScheduled", async ({ event, context }) => {
  const { model: number, sequence, retiresAt } = event.args;
  const row = await context.db.update(model, { number }).set({ retiresAt, sequence });
  await record(context, event, {
    kind: "model.retirement_scheduled",
    subject: number,
    ordinal: sequence,
    derived: { model: row.id, model_number: number },
  });
});
