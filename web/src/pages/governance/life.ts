/** The life of a proposal as steps with dates. Pure. */
import type { Hex } from "viem";
import type { ProposalState } from "../../../../protocol/proposal-states.ts";

/** When something happened, Unix seconds, and in which transaction. */
export type Moment = { at: number; tx: Hex };

/** The state of a proposal, its times and its votes. */
export type ProposalLife = {
  state: ProposalState;
  /** Unix seconds. `snapshot`: whose votes count is fixed then, and the vote begins. `eta`: when it can be executed; 0 until it is queued. */
  snapshot: number;
  deadline: number;
  eta: number;
  made: Moment;
  queued: Moment | null;
  executed: Moment | null;
  canceled: Moment | null;
  /** Base units of SVC. */
  against: bigint;
  inFavour: bigint;
  abstain: bigint;
  quorum: bigint;
};

/** `at`: Unix seconds; null while nobody knows. `tx`: where it happened. */
export type Step = {
  title: string;
  at: number | null;
  is: "done" | "next" | "later" | "bad";
  note?: string;
  tx?: Hex;
};

const QUEUE = "Into the timelock's queue";

/** The past steps of a proposal, the next one, and those that can follow. `now`: Unix seconds of the chain. */
export function lifeOf(proposal: ProposalLife, now: number): Step[] {
  const { state, snapshot, deadline, eta, made, queued, executed, canceled } = proposal;
  const steps: Step[] = [{ title: "Proposed", is: "done", ...made }];
  const vote: Step[] = [
    {
      title: "The vote begins",
      at: snapshot,
      is: now >= snapshot ? "done" : "next",
      note: "Whose votes count is fixed then.",
    },
    { title: "The vote ends", at: deadline, is: now >= deadline ? "done" : now >= snapshot ? "next" : "later" },
  ];
  if (canceled !== null) {
    const happened = [...vote, ...(queued === null ? [] : [{ title: QUEUE, ...queued }])].filter(
      ({ at }) => at !== null && at < canceled.at,
    );
    return [
      ...steps,
      ...happened.map((step) => ({ ...step, is: "done" as const })),
      { title: "Cancelled", is: "bad", ...canceled },
    ];
  }
  steps.push(...vote);
  if (state === "defeated")
    return [...steps, { title: "Rejected", at: deadline, is: "bad", note: whyDefeated(proposal) }];
  steps.push(
    queued === null
      ? {
          title: QUEUE,
          at: null,
          is: state === "succeeded" ? "next" : "later",
          note: state === "succeeded" ? "It was decided. Anybody can put it there." : "If it is decided.",
        }
      : { title: QUEUE, is: "done", ...queued },
  );
  if (queued !== null) steps.push({ title: "Can be executed", at: eta, is: now >= eta ? "done" : "next" });
  if (state === "expired") return [...steps, { title: "Expired", at: null, is: "bad" }];
  if (executed !== null) return [...steps, { title: "Executed", is: "done", ...executed }];
  const isDue = queued !== null && now >= eta;
  return [
    ...steps,
    {
      title: "Executed",
      at: null,
      is: isDue ? "next" : "later",
      ...(isDue && { note: "Anybody can execute it now." }),
    },
  ];
}

/** The governor counts votes for and abstained towards the quorum, and has no third reason to reject. */
const whyDefeated = ({ inFavour, abstain, quorum }: ProposalLife): string =>
  inFavour + abstain < quorum ? "Too few votes took part." : "No more votes were for it than against it.";
