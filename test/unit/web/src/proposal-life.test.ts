/** The steps of a proposal, in every state that the governor has. */
import { expect, it } from "vitest";
import { lifeOf, type ProposalLife } from "../../../../web/src/pages/governance/life.ts";

const [MADE, BEGIN, END, QUEUED, ETA, DONE] = [100, 200, 700, 800, 1_000, 1_100];
const moment = (at: number) => ({ at, tx: "0x1" as const });
const PROPOSAL = {
  state: "pending",
  snapshot: BEGIN,
  deadline: END,
  eta: 0,
  made: moment(MADE),
  queued: null,
  executed: null,
  canceled: null,
  inFavour: 3n,
  against: 1n,
  abstain: 0n,
  quorum: 2n,
} as Partial<ProposalLife>;
const queued = { queued: moment(QUEUED), eta: ETA };

/** `title state@time` of each step. */
const life = (changes: Partial<ProposalLife>, now: number) =>
  lifeOf({ ...PROPOSAL, ...changes } as ProposalLife, now).map(({ title, is, at }) => `${title} ${is}@${at ?? "?"}`);

const PROPOSED = "Proposed done@100";
const VOTED = [PROPOSED, "The vote begins done@200", "The vote ends done@700"];
const QUEUE = "Into the timelock's queue";

it.each<[ProposalLife["state"], Partial<ProposalLife>, number, string[]]>([
  [
    "pending",
    {},
    199,
    [PROPOSED, "The vote begins next@200", "The vote ends later@700", `${QUEUE} later@?`, "Executed later@?"],
  ],
  [
    "active",
    {},
    200,
    [PROPOSED, "The vote begins done@200", "The vote ends next@700", `${QUEUE} later@?`, "Executed later@?"],
  ],
  ["succeeded", {}, 700, [...VOTED, `${QUEUE} next@?`, "Executed later@?"]],
  ["queued", queued, 999, [...VOTED, `${QUEUE} done@800`, "Can be executed next@1000", "Executed later@?"]],
  ["queued", queued, 1_000, [...VOTED, `${QUEUE} done@800`, "Can be executed done@1000", "Executed next@?"]],
  [
    "executed",
    { ...queued, executed: moment(DONE) },
    1_200,
    [...VOTED, `${QUEUE} done@800`, "Can be executed done@1000", "Executed done@1100"],
  ],
  ["expired", queued, 9_000, [...VOTED, `${QUEUE} done@800`, "Can be executed done@1000", "Expired bad@?"]],
  ["defeated", {}, 700, [...VOTED, "Rejected bad@700"]],
  ["canceled", { canceled: moment(150) }, 900, [PROPOSED, "Cancelled bad@150"]],
  ["canceled", { canceled: moment(300) }, 900, [PROPOSED, "The vote begins done@200", "Cancelled bad@300"]],
  ["canceled", { canceled: moment(900), ...queued }, 900, [...VOTED, `${QUEUE} done@800`, "Cancelled bad@900"]],
])("a proposal that is %s, with %o at %i", (state, changes, now, steps) => {
  expect(life({ state, ...changes }, now)).toEqual(steps);
});

it.each([
  [{ inFavour: 1n, abstain: 0n }, "Too few votes took part."],
  [{ inFavour: 1n, abstain: 1n }, "No more votes were for it than against it."],
])("a rejected proposal with %o says why", (votes, note) => {
  const steps = lifeOf({ ...PROPOSAL, state: "defeated", ...votes } as ProposalLife, END);
  expect(steps.at(-1)?.note).toBe(note);
});
