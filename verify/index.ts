/**
 * The audit of a job or of a range of blocks, from an RPC URL and the escrow's address. Runs in Node and in a browser.
 *
 * @example
 * const reader = await EvidenceReader.begin(await Chain.open({ rpcUrl, escrow }));
 * const { holds, checks } = await auditJob(await reader.job(jobId, null));
 */
export { auditJob, type JobAudit } from "./audit-job.ts";
export type { RangeAudit, RangeProgress } from "./audit-range.ts";
export { Chain, type ChainOptions, VerifyError } from "./chain.ts";
export type { Check } from "./checks.ts";
export { describeEvent } from "./describe.ts";
export type { JobEvidence } from "./evidence.ts";
export { moneyFlow } from "./money-flow.ts";
export { decodeProgress, encodeProgress, verifyRange } from "./range.ts";
export { EvidenceReader } from "./reader.ts";
export { verifyWallet, type WalletAudit } from "./wallet.ts";
