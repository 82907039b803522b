/** The money of a range of blocks: every job accounted for, every wallet replayed, the ledger held against the tokens. Pure. */
import type { Address } from "viem";
import { isAddressEqual } from "viem";
import { toApiJobId } from "../job-id.ts";
import { UNITS_PER_CREDIT } from "../money.ts";
import { type Balance, isBalanceEvent, liabilityChange, replayBalances, walletOf } from "./balances.ts";
import { type AnyEvent, eventsOf } from "./event-log.ts";
import { type Check, Checks } from "./evidence.ts";
import { jobProblems, storiesOf } from "./range-jobs.ts";
import { jobContext } from "./story.ts";

/** What the escrow owes and holds at a block. */
export type Ledger = { credits: bigint; claimableUnits: bigint; tokenUnits: bigint };

export type RangeEvidence = {
  from: bigint;
  to: bigint;
  escrow: Address;
  /** All events of the escrow in the range, and all transfers of the stablecoin from or to it. */
  events: readonly AnyEvent[];
  /** Earlier events of the jobs that the range continues. */
  earlier: readonly AnyEvent[];
  opening: Ledger;
  closing: Ledger;
  /** Balance of a wallet before the range. */
  openingOf: (wallet: Address) => Balance;
};

export type RangeAudit = {
  from_block: number;
  to_block: number;
  jobs: { touched: number; settled: number; returned: number; open: number };
  credits: { deposited: number; withdrawn: number; charged: number; locked: number };
  ledger: { credits_owed: string; claimable_units: string; tokens_held: string; surplus_units: string };
  holds: boolean;
  checks: Check[];
};

/** Audits a range. A job that is wrong is named; those that are right are counted. */
export function auditRange(evidence: RangeEvidence): RangeAudit {
  const { events, earlier, escrow, opening, closing } = evidence;
  const checks = new Checks();
  const context = jobContext([...earlier, ...events], escrow);
  const stories = storiesOf(evidence);
  const wrong = stories.flatMap((story) =>
    jobProblems(story, evidence).map((says) => `${toApiJobId(story.jobId)}: ${says}`),
  );
  for (const says of wrong) checks.add("jobs.money", false, "", says);
  if (wrong.length === 0) {
    checks.add("jobs.money", true, `the money of all ${stories.length} jobs is accounted for`, "");
  }
  checkWallets(checks, evidence, context);

  const change = events.reduce(
    (sum, event) => {
      const { credits, units } = liabilityChange(event, context);
      return { credits: sum.credits + BigInt(credits), units: sum.units + units };
    },
    { credits: 0n, units: 0n },
  );
  checks.add(
    "ledger.credits",
    opening.credits + change.credits === closing.credits,
    `credits owed went from ${opening.credits} to ${closing.credits}, as the events say`,
    `the events lead from ${opening.credits} credits owed to ${opening.credits + change.credits}; the escrow says ${closing.credits}`,
  );
  checks.add(
    "ledger.claimable",
    opening.claimableUnits + change.units === closing.claimableUnits,
    `${closing.claimableUnits} token units wait for payees, as the events say`,
    `the events lead to ${opening.claimableUnits + change.units} claimable token units; the escrow says ${closing.claimableUnits}`,
  );
  const surplus = checkTokens(checks, evidence);
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
  return {
    from_block: Number(evidence.from),
    to_block: Number(evidence.to),
    jobs: {
      touched: stories.length,
      settled: stories.filter(({ settled }) => settled !== null).length,
      returned: stories.filter(({ returned }) => returned !== null).length,
      open: stories.filter(({ settled, returned, resolved }) => !settled && !returned && !resolved).length,
    },
    credits: {
      deposited: sum(eventsOf(events, "escrow", "Deposited").map(({ args }) => args.credits)),
      withdrawn: sum(eventsOf(events, "escrow", "Withdrawn").map(({ args }) => args.credits)),
      charged: sum(eventsOf(events, "escrow", "JobSettled").map(({ args }) => args.credits)),
      locked: sum(eventsOf(events, "escrow", "JobLocked").map(({ args }) => args.credits)),
    },
    ledger: {
      credits_owed: String(closing.credits),
      claimable_units: String(closing.claimableUnits),
      tokens_held: String(closing.tokenUnits),
      surplus_units: String(surplus),
    },
    holds: checks.list.every(({ holds }) => holds),
    checks: checks.list,
  };
}

function checkWallets(
  checks: Checks,
  { events, openingOf }: RangeEvidence,
  context: ReturnType<typeof jobContext>,
): void {
  const byWallet = Map.groupBy(events.filter(isBalanceEvent), (event) => walletOf(event).toLowerCase() as Address);
  let wrong = 0;
  for (const [wallet, history] of byWallet) {
    for (const { event, stated, expected } of replayBalances(openingOf(wallet), history, context)) {
      wrong += 1;
      checks.add(
        "wallets.balance",
        false,
        "",
        `${event.name} of ${wallet} in ${event.tx} states ${stated.free} free and ${stated.escrowed} in escrow; it should be ${expected.free} and ${expected.escrowed}`,
      );
    }
  }
  if (wrong === 0)
    checks.add("wallets.balance", true, `the balances of all ${byWallet.size} wallets follow from their events`, "");
}

/** Holds the tokens against the ledger; returns what is held beyond it. */
function checkTokens(checks: Checks, { events, escrow, opening, closing }: RangeEvidence): bigint {
  const transfers = eventsOf(events, "stablecoin", "Transfer");
  const sum = (list: bigint[]) => list.reduce((a, b) => a + b, 0n);
  const arrived = sum(transfers.filter(({ args }) => isAddressEqual(args.to, escrow)).map(({ args }) => args.value));
  const left = sum(transfers.filter(({ args }) => isAddressEqual(args.from, escrow)).map(({ args }) => args.value));
  checks.add(
    "tokens.transfers",
    opening.tokenUnits + arrived - left === closing.tokenUnits,
    `${arrived} token units came in, ${left} went out: ${closing.tokenUnits} are held`,
    `${opening.tokenUnits} + ${arrived} - ${left} token units should leave ${opening.tokenUnits + arrived - left}; ${closing.tokenUnits} are held`,
  );
  const due = (ledger: Ledger) => ledger.credits * UNITS_PER_CREDIT + ledger.claimableUnits;
  const surplus = closing.tokenUnits - due(closing);
  checks.add(
    "tokens.solvency",
    surplus >= 0n,
    `the escrow holds the ${due(closing)} token units it owes${surplus > 0n ? ` and ${surplus} more` : ""}`,
    `the escrow owes ${due(closing)} token units and holds ${closing.tokenUnits}: ${-surplus} are missing`,
  );
  // Nothing of the ledger's own moves the difference; only tokens that somebody sent without a deposit do.
  const caused = sum([
    ...eventsOf(events, "escrow", "Deposited").map(({ args }) => BigInt(args.credits) * UNITS_PER_CREDIT),
    ...eventsOf(events, "escrow", "Compensated").map(({ args }) => args.paid),
  ]);
  const given = arrived - caused;
  checks.add(
    "tokens.surplus",
    surplus - (opening.tokenUnits - due(opening)) === given && given >= 0n,
    given === 0n
      ? "every token that moved has its entry in the ledger"
      : `${given} token units were sent to the escrow without a deposit`,
    `tokens and ledger moved apart by ${surplus - (opening.tokenUnits - due(opening)) - given} token units in this range`,
  );
  return surplus;
}
