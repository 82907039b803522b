/** Every command of the operator, by its words. */
import type { Operator, Output } from "./context.ts";
import { expireDispute, listDisputes, rejectDisputes, voteDispute } from "./disputes.ts";
import { createKey, listKeys, revokeKey, suspendKey } from "./keys.ts";
import { listModels, proposeModel, proposePrices, proposeRetirement } from "./models.ts";
import { listOperators, proposeOperator, proposeStart, setPaused, stopOperator } from "./operators.ts";
import { carryOut, delegate, listProposals, voteProposal } from "./proposals.ts";
import { announceReserve, fundReserve, withdrawReserve } from "./reserve.ts";
import { consentAsSigner, rotateSigners } from "./signers.ts";
import { collectDebt, proposeCap, proposeFee, proposePayment, showTreasury } from "./treasury.ts";
import { listWorkers, registerWorkers } from "./workers.ts";

export type Command = {
  /** Two words, then what stands behind them. */
  usage: string;
  does: string;
  /** Looks at the gateway's database instead of the chain. */
  database?: true;
  run: (operator: Operator, args: readonly string[]) => Promise<Output>;
};

export const COMMANDS: readonly Command[] = [
  { usage: "keys list [--all]", does: "API keys, by their last four characters", database: true, run: listKeys },
  {
    usage: "keys create <wallet>",
    does: "a key for a wallet that has none; shown once",
    database: true,
    run: createKey,
  },
  { usage: "keys revoke <wallet>", does: "ends the wallet's key at once", database: true, run: revokeKey },
  {
    usage: "keys suspend <wallet>",
    does: "answers 403 key_suspended from now on",
    database: true,
    run: (o, a) => suspendKey(o, a, true),
  },
  {
    usage: "keys unsuspend <wallet>",
    does: "the key works again",
    database: true,
    run: (o, a) => suspendKey(o, a, false),
  },
  { usage: "operators list", does: "operators with their admins, signers, gas and reserves", run: listOperators },
  { usage: "operators propose-admit <admin>", does: "vote: a new operator", run: proposeOperator },
  { usage: "operators stop <operator>", does: "guardian: takes the right to lock, at once", run: stopOperator },
  { usage: "operators propose-start <operator>", does: "vote: gives the right to lock back", run: proposeStart },
  {
    usage: "signers consent <operator>",
    does: "a gateway's key agrees to sign for the operator; sends nothing",
    run: consentAsSigner,
  },
  {
    usage: "signers rotate <operator> [--add KEY:CONSENT,…] [--remove KEY,…]",
    does: "operator's admin: adds and removes gateways' keys, at once",
    run: rotateSigners,
  },
  {
    usage: "reserve fund <operator> <credits>",
    does: "buys credits for an operator's reserve; anyone can",
    run: fundReserve,
  },
  {
    usage: "reserve announce <operator> <credits>",
    does: "operator's admin: announces a withdrawal; 0 takes it back",
    run: announceReserve,
  },
  {
    usage: "reserve withdraw <operator> <receiver>",
    does: "operator's admin: withdraws what is due",
    run: withdrawReserve,
  },
  { usage: "models list", does: "the catalog, with announced prices and ends", run: listModels },
  {
    usage: "models propose-add <id> --parameters P --owned-by O --tier T --per-request N --per-1k N --context-window N",
    does: "vote: lists a model",
    run: proposeModel,
  },
  {
    usage: "models propose-prices <id> --per-request N --per-1k N",
    does: "vote: announces prices",
    run: proposePrices,
  },
  {
    usage: "models propose-retire <id> --at TIME",
    does: "vote: ends a model, with its notice",
    run: proposeRetirement,
  },
  { usage: "proposals list", does: "governance proposals, their state and what comes next", run: listProposals },
  { usage: "proposals delegate", does: "makes one's own SVC count as votes", run: delegate },
  { usage: "proposals vote <id> for|against|abstain", does: "votes", run: voteProposal },
  {
    usage: "proposals queue <id>",
    does: "starts the timelock of what was decided",
    run: (o, a) => carryOut(o, a, "queue"),
  },
  { usage: "proposals execute <id>", does: "carries it out; anyone can", run: (o, a) => carryOut(o, a, "execute") },
  { usage: "workers list", does: "stake, state, health and models of all workers", run: listWorkers },
  {
    usage: "workers register --workers-file F",
    does: "registers one's own pool, or brings it up to date",
    run: registerWorkers,
  },
  { usage: "treasury show", does: "balances, fee and debts", run: showTreasury },
  { usage: "treasury collect <job id>", does: "has a debt paid; anyone can", run: collectDebt },
  { usage: "treasury propose-pay stablecoin|svc <receiver> <units>", does: "vote: pays out", run: proposePayment },
  { usage: "treasury propose-fee <bps>", does: "vote: announces the protocol fee", run: proposeFee },
  { usage: "treasury propose-cap <credits>", does: "vote: what compensations may cost a day", run: proposeCap },
  {
    usage: "protocol pause",
    does: "guardian: stops deposits and locks, never an exit",
    run: (o) => setPaused(o, true),
  },
  { usage: "protocol resume", does: "guardian: resumes them", run: (o) => setPaused(o, false) },
  { usage: "disputes list", does: "open disputes with votes and deadlines", run: listDisputes },
  {
    usage: "disputes vote <job id> worker-at-fault|gateway-at-fault|rejected",
    does: "arbiter: votes",
    run: voteDispute,
  },
  { usage: "disputes reject <job id>…", does: "arbiter: rejects several at once, all or none", run: rejectDisputes },
  { usage: "disputes expire <job id>", does: "ends one that the arbiters left; anyone can", run: expireDispute },
];

const width = Math.max(...COMMANDS.map(({ usage }) => Math.min(usage.length, 48)));

/** A long usage has its explanation on the next line. */
const line = ({ usage, does }: Command): string =>
  usage.length <= width ? `  ${usage.padEnd(width)}  ${does}` : `  ${usage}\n  ${" ".repeat(width)}  ${does}`;

export const USAGE = `npm run operator -- <command> [--json] [--yes]

${COMMANDS.map(line).join("\n")}

Nothing is sent to the chain without --yes: what would be sent is simulated and shown. "vote:" makes a governance proposal, which
SVC holders vote on and anyone queues and executes (proposals …). Commands on keys take effect at once.

  --json   the result as JSON
  --yes    send the transaction

  OPERATOR_PRIVATE_KEY             signs: the guardian's, an arbiter's, an SVC holder's, an operator's admin's, a gateway's or a worker owner's
                                   key, as the command needs
  DATA_DIR                         a local stack's folder (default .data), or instead of it:
  DEPLOYMENT_FILE, RPC_URL, DATABASE_URL   as the gateway has them

Exit status: 0 done (or shown), 1 it failed, 2 it could not be understood or would revert.`;

const words = (usage: string) => usage.split(" ").slice(0, 2).join(" ");

/** The command named by the first two words. */
export const findCommand = (group = "", name = ""): Command | null =>
  COMMANDS.find(({ usage }) => words(usage) === `${group} ${name}`) ?? null;
