/** The package's exports. */

export { signDispute } from "./dispute.ts";
export type { Finding, FindingId, JobReport } from "./findings.ts";
export { findingLine } from "./findings.ts";
export { type ProxyOptions, startProxy } from "./proxy.ts";
export { ReplyFormError } from "./reply.ts";
export { type VerifiedFetch, type VerifiedOptions, verified } from "./verified.ts";
