/** The command `cmi-verify`, in the repository `npm run verify-job --`: its arguments, what it looks at, and what it prints. */

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Address, getAddress, type Hex, isAddress } from "viem";
import { usdgText } from "../protocol/money.ts";
import { nodeUrlFault } from "../shared/node-url.ts";
import { readStackFile } from "../shared/stack-file.ts";
import type { JobAudit } from "./audit-job.ts";
import type { RangeAudit, RangeProgress } from "./audit-range.ts";
import { Chain, type ChainOptions, firstLine, VerifyError } from "./chain.ts";
import type { Check } from "./checks.ts";
import { decodeProgress, encodeProgress, verifyRange } from "./range.ts";
import { EvidenceReader } from "./reader.ts";
import { auditJobs, type Subject, subjectOf } from "./subject.ts";
import { monthOf, verifyWallet, type WalletAudit } from "./wallet.ts";

export const USAGE = `cmi-verify job <job id or transaction hash> [options]
cmi-verify wallet <address> [--month 2026-11] [options]
cmi-verify range [--from-block A] [--to-block B] [--progress FILE] [options]

In a clone of the project: npm run verify-job -- job <job id> [options]

job     recomputes what it cost, who signed it and where the money went, from the chain alone: no API, no index, no database
wallet  the same for every job that the wallet paid for in a month (UTC; without --month in all its time), and its account
range   accounts for the money of every job in the blocks, and holds the ledger against the tokens

  --text-file F     of a job: the answer as received; its SHA-256 must be the one the worker signed (one final newline is ignored)
  --rpc URL         a node of the settlement chain
  --escrow ADDRESS  the escrow contract
  --start-block N   block of the deployment or any before it (default 0): configuration is read from there
  --span N          most blocks asked for in one eth_getLogs (default 10000)
  --progress FILE   of a range: keeps in FILE what was found; the same command goes on from there, up to newer blocks too
  --json            the result as one JSON document
  --help

Without --rpc and --escrow they are read from the stack.json of a local stack (npm start) in DATA_DIR (default .data).
Exit status: 0 everything holds, 1 something does not, 2 it could not be looked at.`;

type Range = { kind: "range"; from: bigint; to: bigint | null; file: string | null };
/** `month`: of a wallet; null for all time. */
type Target = Range | (Subject & { month: string | null });

/** `tell` hears how far a long audit is. */
type VerifyOptions = ChainOptions & {
  target: Target;
  text: Uint8Array | null;
  json: boolean;
  tell?: (line: string) => void;
};

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
    throw new VerifyError(`${missing} needed. A local stack's would be read from ${file}: DATA_DIR names the folder`);
  }
  const fault = nodeUrlFault(rpcUrl, "--rpc");
  if (fault !== null) throw new VerifyError(fault);
  if (!isAddress(escrow)) throw new VerifyError(`--escrow ${escrow} is not an address (or its checksum is wrong)`);
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

/** The result of an audit: whether all of it holds, the findings for machines, and those for a person. */
type VerifyResult = { holds: boolean; json: Record<string, unknown>; text: string };

/** Looks at what was asked for. Throws a VerifyError when that is not possible. */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const reader = await EvidenceReader.begin(await Chain.open(options));
  const { target, text, tell = () => {} } = options;
  const { chainId, addresses, head } = reader.chain;
  const about = { chain_id: chainId, escrow: addresses.escrow, head_block: Number(head) };
  if (target.kind === "range") {
    const audit = await auditedRange(reader, target, tell);
    return { holds: audit.holds, json: { ...about, ...audit }, text: rangeReport(audit) };
  }
  if (target.kind === "wallet") {
    const audit = await verifyWallet(reader, target, tell);
    return { holds: audit.holds, json: { ...about, ...audit }, text: walletReport(audit) };
  }
  const audits = await auditJobs(reader, target, text);
  const holds = audits.every((audit) => audit.holds);
  return { holds, json: { ...about, holds, jobs: audits }, text: audits.map(jobReport).join("\n\n") };
}

type Stored = { chainId: number; escrow: Address; hash: Hex; progress: RangeProgress };

/** Audits a range, and keeps what was found in the target's file. */
async function auditedRange(
  reader: EvidenceReader,
  { from, to, file }: Range,
  tell: (line: string) => void,
): Promise<RangeAudit> {
  const { chain } = reader;
  const { chainId, head } = chain;
  const { escrow } = chain.addresses;
  const last = to ?? head;
  const stored = file === null || !existsSync(file) ? null : readProgress(file);
  if (stored !== null) {
    if (stored.chainId !== chainId || stored.escrow !== escrow) {
      throw new VerifyError(`${file} is of the escrow ${stored.escrow} on chain ${stored.chainId}: name another file`);
    }
    if (stored.hash !== (await chain.hashOf(stored.progress.next - 1n))) {
      throw new VerifyError(`${file} is of blocks that the chain has replaced since: delete it and begin again`);
    }
  }
  const began = performance.now();
  const before = stored?.progress.counts.touched ?? 0;
  return await verifyRange(reader, {
    from,
    to: last,
    progress: stored?.progress ?? null,
    onPiece: async (progress) => {
      const { next, counts } = progress;
      const speed = (counts.touched - before) / ((performance.now() - began) / 1_000);
      tell(`block ${next - 1n} of ${last}: ${counts.touched} jobs, ${Math.round(speed)} a second`);
      if (file === null) return;
      const hash = await chain.hashOf(next - 1n);
      // Whole or not at all: it may be interrupted here.
      writeFileSync(`${file}.tmp`, encodeProgress({ chainId, escrow, hash, progress } satisfies Stored));
      renameSync(`${file}.tmp`, file);
    },
  });
}

function readProgress(file: string): Stored {
  try {
    return decodeProgress(readFileSync(file, "utf8")) as Stored;
  } catch (error) {
    throw new VerifyError(`--progress ${file} cannot be read: ${firstLine(error)}`);
  }
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
    `blocks ${audit.from_block} to ${audit.to_block}: ${jobs.touched} jobs (${jobs.settled} settled, ${jobs.returned} returned, ${jobs.open} open)${jobs.empty > 0 ? `; ${jobs.empty} of the settled answers are empty` : ""}`,
    `  credits: ${credits.deposited} deposited, ${credits.locked} locked, ${credits.charged} charged, ${credits.withdrawn} withdrawn`,
    `  at the end ${ledger.credits_owed} credits and ${usdgText(BigInt(ledger.claimable_units))} owed, ${usdgText(BigInt(ledger.tokens_held))} held`,
    ...audit.checks.map(line),
    `  ${verdict(audit.checks)}`,
  ].join("\n");
}

/** A wallet's audit for a person. */
function walletReport(audit: WalletAudit): string {
  const { credits, jobs } = audit;
  return [
    `wallet ${audit.wallet}${audit.month === null ? "" : ` in ${audit.month}`}: ${jobs.audited} jobs (${jobs.settled} settled, ${jobs.open} open)`,
    `  credits: ${credits.deposited} deposited, ${credits.locked} locked, ${credits.charged} charged, ${credits.withdrawn} withdrawn`,
    ...audit.failing.map(jobReport),
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
        progress: { type: "string" },
        month: { type: "string" },
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

type Values = ReturnType<typeof parse>["values"];
type Word = "job" | "wallet" | "range";
const isWord = (text: string | undefined): text is Word => text === "job" || text === "wallet" || text === "range";
/** Options of one kind of audit. */
const OPTION_OF = {
  "text-file": "job",
  month: "wallet",
  "from-block": "range",
  "to-block": "range",
  progress: "range",
} as const;

/** The first word says what is meant; a job needs none, nor does a range with its blocks. */
function readTarget(positionals: string[], values: Values): Target {
  const { "from-block": from, "to-block": to, month, progress } = values;
  const [first, ...rest] = positionals;
  const word = isWord(first) ? first : from !== undefined || to !== undefined ? "range" : "job";
  const [text, ...more] = isWord(first) ? rest : positionals;
  for (const [option, owner] of Object.entries(OPTION_OF) as [keyof typeof OPTION_OF, Word][]) {
    if (values[option] === undefined || owner === word) continue;
    throw new VerifyError(`--${option} ${values[option]} is an option of "${owner}", not of "${word}": leave it out`);
  }
  if (word === "range") {
    if (text !== undefined) {
      throw new VerifyError(`"range" takes no "${text}": name its blocks with --from-block and --to-block`);
    }
    const last = to === undefined || to === "latest" ? null : number(to, "--to-block");
    const range = { kind: word, from: number(from ?? "0", "--from-block"), to: last, file: progress ?? null };
    if (last === null || last >= range.from) return range;
    throw new VerifyError(`--to-block ${last} is before --from-block ${range.from}: name the earlier block first`);
  }
  const wanted = word === "wallet" ? "a wallet's address" : "a job id or a transaction hash";
  if (text === undefined) throw new VerifyError(`"${word}" needs ${wanted}\n\n${USAGE}`);
  if (more.length > 0) throw new VerifyError(`"${word}" takes one subject: leave out "${more.join(" ")}"`);
  const subject = subjectOf(text);
  if ((subject.kind === "wallet") !== (word === "wallet")) {
    throw new VerifyError(`"${word}" needs ${wanted}: ${text} is a ${subject.kind}`);
  }
  if (month !== undefined) monthOf(month);
  return { ...subject, month: month ?? null };
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
  if (!/^\d{1,15}$/.test(text)) throw new VerifyError(`${name} ${text} is not a whole number of at most 15 digits`);
  return BigInt(text);
}
