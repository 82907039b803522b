import { isAddressEqual } from "viem";
import { Ruling } from "../ruling.ts";
import { eventsOf, isBefore } from "./event-log.ts";
import { type Checks, type JobEvidence, wrongFields } from "./evidence.ts";
import type { JobStory } from "./story.ts";
import { stakeTermsAt, treasuryAt, workerAt } from "./terms.ts";

/** Base units of SVC in one unit of stake. */
const STAKE_UNIT = 10n ** 12n;

/** Whether the slash of the job's worker took its full amount before this; false when there was none. */
export function wasPunished({ slashed }: JobStory, place: { block: bigint; logIndex: number }, evidence: JobEvidence) {
  if (slashed === null || !isBefore(slashed, place)) return false;
  return slashed.args.amount === dueOf(slashed, evidence);
}

/** What a slash at this place takes of a sufficient stake. */
function dueOf(slashed: NonNullable<JobStory["slashed"]>, { configuration, timeOf }: JobEvidence): bigint | null {
  return stakeTermsAt(configuration, slashed, timeOf(slashed.block), timeOf)?.slashAmount ?? null;
}

/** What the worker lost, and that a ruling against it, or an equivocation, took something. */
export function checkSlash(checks: Checks, story: JobStory, evidence: JobEvidence): void {
  const { slashed, equivocated, disputes } = story;
  const convicted = disputes.find(({ resolved }) => resolved?.args.ruling === Ruling.WorkerAtFault)?.resolved ?? null;
  const cause = equivocated ?? convicted;
  if (slashed === null) {
    if (cause !== null) {
      checks.add("slash.exists", false, "", "the worker was ruled at fault, but no slash is recorded for this job");
    }
    return;
  }
  const { args } = slashed;
  const due = dueOf(slashed, evidence);
  const worker = workerAt(evidence.configuration, args.signer, slashed);
  const had = worker?.stake ?? 0n;
  const amount = due !== null && had >= due ? due : had;
  const wrong = wrongFields("WorkerSlashed", args, {
    worker: worker?.id ?? null,
    signer: story.worker,
    sequence: (worker?.sequence ?? 0) + 1,
    amount,
    stake: had - amount,
    equivocation: equivocated !== null && equivocated.tx === slashed.tx,
  });
  if (cause === null || cause.tx !== slashed.tx) wrong.push("nothing in its transaction convicts the worker");
  const treasury = treasuryAt(evidence.configuration, slashed);
  const moved = eventsOf(evidence.events, "serviceToken", "Transfer").some(
    ({ tx, args: { from, to, value } }) =>
      tx === slashed.tx &&
      isAddressEqual(from, evidence.addresses.registry) &&
      treasury !== null &&
      isAddressEqual(to, treasury) &&
      value === amount * STAKE_UNIT,
  );
  const svc = (units: bigint) => `${Number(units) / 1e6} SVC`;
  if (!moved && amount !== 0n) wrong.push(`no transfer of ${svc(amount)} from the registry to the treasury is there`);
  checks.add(
    "slash.amount",
    wrong.length === 0,
    `worker ${args.signer} lost ${svc(amount)} to the treasury; ${svc(had - amount)} are left`,
    wrong.join("; "),
  );
}
