import { isAddressEqual } from "viem";
import { quote } from "../pricing.ts";
import { tierName } from "../tiers.ts";
import { callsOf, escrowCalls } from "./calls.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import type { JobStory } from "./story.ts";
import { feeAt, gatewayOf, modelTermsAt } from "./terms.ts";

/** The lock: who made it, at whose price, and how much it holds. */
export function checkLock(checks: Checks, { locked, jobId }: JobStory, evidence: JobEvidence): void {
  const { args } = locked;
  const time = evidence.timeOf(locked.block);
  checkPrices(checks, { locked, time }, evidence);

  const transaction = evidence.transactions.get(locked.tx);
  const logs = evidence.events.filter(({ tx }) => tx === locked.tx);
  const calls = transaction ? callsOf(escrowCalls(transaction, evidence.addresses.escrow, logs), "lock") : [];
  const call = calls.find((one) => one.args[2].toLowerCase() === jobId);
  if (transaction === undefined || call === undefined) {
    checks.add(
      "lock.calldata",
      false,
      "",
      `the lock's call is not in the calldata of ${locked.tx}: its price cannot be recomputed`,
    );
    return;
  }
  const [wallet, model, , maxTokens, maxCredits, validUntil] = call.args;
  const price = quote(maxTokens, args);
  checks.add(
    "lock.credits",
    price === args.credits && args.credits <= maxCredits,
    `${args.credits} credits were locked: the price of ${maxTokens} output tokens, within the limit of ${maxCredits}`,
    `${args.credits} credits were locked, but ${maxTokens} output tokens cost ${price} and the limit was ${maxCredits}`,
  );
  checks.add(
    "lock.call",
    isAddressEqual(wallet, args.wallet) && model === args.model && time < validUntil,
    "wallet, model and time are those the gateway asked for",
    `the gateway asked for wallet ${wallet}, model ${model}, before ${validUntil}; recorded are ${args.wallet}, model ${args.model}, at ${time}`,
  );
  const signer = gatewayOf(evidence.configuration, args.gateway);
  checks.add(
    "lock.gateway",
    signer !== null && isAddressEqual(signer, transaction.from),
    `gateway ${args.gateway} (${transaction.from}) locked it`,
    `${transaction.from} locked it as gateway ${args.gateway}, which is ${signer ?? "unknown"}`,
  );
}

function checkPrices(
  checks: Checks,
  { locked, time }: { locked: JobStory["locked"]; time: number },
  { configuration, timeOf }: JobEvidence,
): void {
  const { args } = locked;
  const terms = modelTermsAt(configuration, args.model, locked, time, timeOf);
  if (terms === null) {
    checks.add("lock.prices", false, "", `model ${args.model} was not in the catalog when the job was locked`);
  } else {
    const snapshot = `${args.creditsPerRequest} a request, ${args.creditsPer1kTokens} per 1,000 tokens, tier ${tierName(args.tier)}`;
    checks.add(
      "lock.prices",
      terms.creditsPerRequest === args.creditsPerRequest &&
        terms.creditsPer1kTokens === args.creditsPer1kTokens &&
        terms.tier === args.tier,
      `the price snapshot (${snapshot}) is the catalog's for ${terms.id} at that time`,
      `the price snapshot (${snapshot}) is not the catalog's for ${terms.id}: ${terms.creditsPerRequest}, ${terms.creditsPer1kTokens}, ${tierName(terms.tier)}`,
    );
    checks.add(
      "lock.model",
      terms.retiresAt === 0 || time < terms.retiresAt,
      `${terms.id} was not retired`,
      `${terms.id} was retired at ${terms.retiresAt}, before the lock at ${time}`,
    );
  }
  const fee = feeAt(configuration, locked, time, timeOf);
  checks.add(
    "lock.fee",
    fee === args.feeBps,
    `the fee snapshot (${args.feeBps / 100} %) is the one in force at that time`,
    `the fee snapshot is ${args.feeBps / 100} %, in force was ${fee === null ? "none" : `${fee / 100} %`}`,
  );
}
