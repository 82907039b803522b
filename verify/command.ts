/** The command `npm run verify-job`: its arguments, what it looks at, and what it prints. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { getAddress, type Hex, isAddress } from "viem";
import { fromApiJobId } from "../protocol/job-id.ts";
import { nodeUrlFault } from "../shared/node-url.ts";

import { readStackFile } from "../shared/stack-file.ts";
import { auditJob, type JobAudit } from "./audit-job.ts";
import { auditRange, type RangeAudit } from "./audit-range.ts";
import { Chain, type ChainOptions, firstLine, VerifyError } from "./chain.ts";
import type { Check } from "./checks.ts";
import { EvidenceReader } from "./reader.ts";

export const USAGE = `npm run verify-job -- <job id or transaction hash> [options]
npm run verify-job -- --from-block A --to-block B [options]

Recomputes what a job cost, who signed it and where the money went, from the chain alone: no API, no index, no database.
With a range of blocks it accounts for the money of every job in it, and holds the ledger against the tokens.

  --text-file F     the answer as received; its SHA-256 must be the one the worker signed (one final newline is ignored)
  --rpc URL         a node of the settlement chain
  --escrow ADDRESS  the escrow contract
  --start-block N   block of the deployment or any before it (default 0): configuration is read from there
  --span N          most blocks asked for in one eth_getLogs (default 10000)
  --json            the result as one JSON document
  --help

Without --rpc and --escrow they are read from $DATA_DIR/stack.json (DATA_DIR defaults to .data).
Exit status: 0 everything holds, 1 something does not, 2 it could not be looked at.`;

export type Target =
  | { kind: "job"; jobId: Hex }
  | { kind: "transaction"; hash: Hex }
  | { kind: "range"; from: bigint; to: bigint | null };

export type VerifyOptions = ChainOptions & { target: Target; text: Uint8Array | null; json: boolean };

/** Reads arguments and the stack file. Null when help was asked for. */
export function readOptions(argv: string[], env: NodeJS.ProcessEnv): VerifyOptions | null {
  const { values, positionals } = parse(argv);
  if (values.help) return null;
  const target = readTarget(positionals, values);
  const { file, stack } = values.rpc && values.escrow ? { file: "", stack: null } : readStackFile(env);
  const rpcUrl = values.rpc ?? stack?.rpc_url;
  const escrow = values.escrow ?? stack?.contracts?.InferenceEscrow;
  if (rpcUrl === undefined || escrow === undefined) {
    const missing = [rpcUrl ? [] : "--rpc URL", escrow ? [] : "--escrow ADDRESS"].flat().join(" and ");
    throw new VerifyError(`${missing} needed: there is no ${file} to read them from (npm start writes it)`);
  }
  const fault = nodeUrlFault(rpcUrl, "--rpc");
  if (fault !== null) throw new VerifyError(fault);
  if (!isAddress(escrow)) throw new VerifyError(`--escrow ${escrow} is not an address (or its checksum is wrong)`);
  if (values["text-file"] !== undefined && target.kind === "range") {
    throw new VerifyError("--text-file needs one job, not a range of blocks");
  }
  return {
    target,
    rpcUrl,
    escrow: getAddress(escrow),
    // With an escrow of another deployment the stack file says nothing about the chain.
    chainId: stack !== null && values.escrow === undefined ? (stack.chain_id ?? null) : null,
    text: values["text-file"] === undefined ? null : readText(values["text-file"]),
    startBlock: number(values["start-block"] ?? "0", "--start-block"),
    span: number(values.span ?? "10000", "--span") || 1n,
    json: values.json ?? false,
  };
}

/** What was found: whether all of it holds, for machines, and for a person. */
export type VerifyResult = { holds: boolean; json: Record<string, unknown>; text: string };

/** Looks at one job, at all jobs of a transaction, or at a range of blocks. Throws a VerifyError when that is not possible. */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const reader = await EvidenceReader.begin(await Chain.open(options));
  const { target, text } = options;
  const { chainId, addresses, head } = reader.chain;
  const about = { chain_id: chainId, escrow: addresses.escrow, head_block: Number(head) };
  if (target.kind === "range") {
    const audit = auditRange(await reader.range(target.from, target.to ?? head));
    return { holds: audit.holds, json: { ...about, ...audit }, text: rangeReport(audit) };
  }
  const jobs = target.kind === "job" ? [target.jobId] : await reader.jobsOf(target.hash);
  if (jobs.length === 0 && target.kind === "transaction") {
    throw new VerifyError(`transaction ${target.hash} holds no job of the escrow ${addresses.escrow}`);
  }
  if (text !== null && jobs.length > 1) {
    throw new VerifyError(`--text-file needs one job, this transaction holds ${jobs.length}: name the job`);
  }
  const audits = [];
  for (const jobId of jobs) audits.push(await auditJob(await reader.job(jobId, text)));
  const holds = audits.every((audit) => audit.holds);
  return { holds, json: { ...about, holds, jobs: audits }, text: audits.map(jobReport).join("\n\n") };
}

const line = ({ holds, id, says }: Check) => `  ${holds ? "holds " : "FAILS "} ${id.padEnd(24)} ${says}`;
const verdict = (checks: readonly Check[]): string => {
  const failed = checks.filter(({ holds }) => !holds);
  if (failed.length === 0) return `All ${checks.length} checks hold.`;
  return `${failed.length} of ${checks.length} checks FAIL: ${failed.map(({ id }) => id).join(", ")}.`;
};

/** A job's audit for a person. */
function jobReport(audit: JobAudit): string {
  const { status, wallet, worker, credits_locked: locked, credits_charged: charged } = audit;
  return [
    `${audit.job_id}: ${status}`,
    `  wallet ${wallet}, worker ${worker ?? "none"}, ${locked} credits locked, ${charged} charged`,
    `  locked in ${audit.escrow_tx}${audit.settlement_tx ? `, settled in ${audit.settlement_tx}` : ""}`,
    ...audit.checks.map(line),
    `  ${verdict(audit.checks)}${audit.open ? " The job is not over: this is what holds so far." : ""}`,
  ].join("\n");
}

/** A range's audit for a person. */
function rangeReport(audit: RangeAudit): string {
  const { jobs, credits, ledger } = audit;
  return [
    `blocks ${audit.from_block} to ${audit.to_block}: ${jobs.touched} jobs (${jobs.settled} settled, ${jobs.returned} returned, ${jobs.open} open)`,
    `  credits: ${credits.deposited} deposited, ${credits.locked} locked, ${credits.charged} charged, ${credits.withdrawn} withdrawn`,
    `  at the end ${ledger.credits_owed} credits and ${ledger.claimable_units} token units owed, ${ledger.tokens_held} token units held`,
    ...audit.checks.map(line),
    `  ${verdict(audit.checks)}`,
  ].join("\n");
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        "text-file": { type: "string" },
        rpc: { type: "string" },
        escrow: { type: "string" },
        "from-block": { type: "string" },
        "to-block": { type: "string" },
        "start-block": { type: "string" },
        span: { type: "string" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new VerifyError(`${firstLine(error)}\n\n${USAGE}`);
  }
}

function readTarget(positionals: string[], values: { "from-block"?: string; "to-block"?: string }): Target {
  const from = values["from-block"];
  const to = values["to-block"];
  if (from !== undefined || to !== undefined) {
    if (positionals.length > 0) throw new VerifyError("give either a job or a range of blocks, not both");
    const range = {
      kind: "range" as const,
      from: number(from ?? "0", "--from-block"),
      to: to === undefined || to === "latest" ? null : number(to, "--to-block"),
    };
    if (range.to !== null && range.to < range.from) throw new VerifyError("--to-block is before --from-block");
    return range;
  }
  const [subject, ...more] = positionals;
  if (subject === undefined || more.length > 0) throw new VerifyError(`name one job or one transaction\n\n${USAGE}`);
  if (/^0x[0-9a-fA-F]{64}$/.test(subject)) return { kind: "transaction", hash: subject.toLowerCase() as Hex };
  // The bare bytes16 of the chain is a job too, as events show it.
  const jobId = /^0x[0-9a-fA-F]{32}$/.test(subject)
    ? (subject.toLowerCase() as Hex)
    : fromApiJobId(subject.toLowerCase());
  if (jobId === null) {
    throw new VerifyError(
      `"${subject}" is neither a job id (job_ and 32 hex digits) nor a transaction hash (0x and 64)`,
    );
  }
  return { kind: "job", jobId };
}

/** The text as hashed: the specification leaves one final newline out, and editors add one. */
function readText(file: string): Uint8Array {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new VerifyError(`cannot read --text-file ${file}: ${firstLine(error)}`);
  }
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}

function number(text: string, name: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new VerifyError(`${name} ${text} is not a block number`);
  return BigInt(text);
}
