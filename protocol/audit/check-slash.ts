import { isAddressEqual } from "viem";
import { eventsOf } from "./event-log.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import type { JobStory } from "./story.ts";
import { slashAmountAt, treasuryAt } from "./terms.ts";

/** Base units of SVC in one unit of stake. */
const STAKE_UNIT = 10n ** 12n;
/** Number of the ruling (`Ruling`). */
const WORKER_AT_FAULT = 1;

/** What the treasury paid arrived, and what it owes goes down by it. */
export function checkCompensations(
  checks: Checks,
  list: JobStory["compensated"],
  { events, addresses, configuration }: JobEvidence,
) {
  let owed: bigint | null = null;
  for (const event of list) {
    const { paid, owed: left } = event.args;
    const treasury = treasuryAt(configuration, event);
    const arrived = eventsOf(events, "stablecoin", "Transfer")
      .filter(({ tx, args }) => tx === event.tx && isAddressEqual(args.to, addresses.escrow))
      .filter(({ args }) => treasury !== null && isAddressEqual(args.from, treasury));
    checks.add(
      "compensation.tokens",
      paid === 0n || arrived.some(({ args }) => args.value === paid),
      `${paid} token units arrived from the treasury`,
      `${paid} token units are said to have arrived from the treasury ${treasury}, but no such transfer is there`,
    );
    if (owed !== null) {
      checks.add(
        "compensation.debt",
        paid + left === owed,
        `${left} token units of the debt remain`,
        `the debt was ${owed} token units; ${paid} paid and ${left} left do not sum to it`,
      );
    }
    owed = left;
  }
}

/** What the worker lost, and that a ruling against it took something. */
export function checkSlash(checks: Checks, { slashed, resolved, equivocated }: JobStory, evidence: JobEvidence): void {
  if (slashed === null) {
    if (resolved?.args.ruling === WORKER_AT_FAULT && equivocated.length === 0) {
      checks.add("slash.exists", false, "", "the worker was ruled at fault, but no slash is recorded for this job");
    }
    return;
  }
  const { amount, stake, signer } = slashed.args;
  const asked = slashAmountAt(evidence.configuration, slashed, evidence.timeOf(slashed.block), evidence.timeOf);
  const had = amount + stake;
  const short = asked !== null && had < asked;
  const due = short ? had : asked;
  const treasury = treasuryAt(evidence.configuration, slashed);
  const moved = eventsOf(evidence.events, "serviceToken", "Transfer").some(
    ({ tx, args }) =>
      tx === slashed.tx &&
      isAddressEqual(args.from, evidence.addresses.registry) &&
      treasury !== null &&
      isAddressEqual(args.to, treasury) &&
      args.value === amount * STAKE_UNIT,
  );
  const svc = (units: bigint) => `${Number(units) / 1e6} SVC`;
  checks.add(
    "slash.amount",
    due === amount && (moved || amount === 0n),
    `worker ${signer} lost ${svc(amount)} to the treasury; ${svc(stake)} are left`,
    `worker ${signer} should have lost ${due === null ? "an unknown amount" : svc(due)} to the treasury; recorded are ${svc(amount)}, ${moved ? "and they moved" : "and no such transfer is there"}`,
  );
}
