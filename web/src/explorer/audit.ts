import type { Address, Hex } from "viem";
import { fromApiJobId } from "../../../protocol/job-id.ts";
import { auditJob } from "../../../verify/audit-job.ts";
import { Chain } from "../../../verify/chain.ts";
import { EvidenceReader } from "../../../verify/reader.ts";
import { app } from "../data/app.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

/** Most blocks asked for in one question; the reader halves it where a node refuses. */
const SPAN = 10_000n;

/** Audits a job in the browser, from what the node at `rpcUrl` says and nothing else. */
export async function judge(jobId: string, rpcUrl: string): Promise<Verdict> {
  const chain = await Chain.open({
    rpcUrl,
    escrow: app.contracts["InferenceEscrow"] as Address,
    chainId: app.chain_id,
    startBlock: BigInt(app.start_block),
    span: SPAN,
  });
  const reader = await EvidenceReader.begin(chain);
  const evidence = await reader.job(fromApiJobId(jobId) as Hex, null);
  return verdictOf(evidence, await auditJob(evidence));
}
