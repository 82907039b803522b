/** Runs beside the page, in a Web Worker: audits a job from what a node says and nothing else. */
import type { Address, Hex } from "viem";
import { fromApiJobId } from "../../../protocol/job-id.ts";
import { auditJob } from "../../../verify/audit-job.ts";
import { Chain, firstLine } from "../../../verify/chain.ts";
import { EvidenceReader } from "../../../verify/reader.ts";
import { unlessSilent } from "./silence.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

/**
 * The question that the page asks. `near`: the block of the job's lock as the service tells it, which spares a search and decides nothing.
 */
export type AuditQuestion = {
  jobId: string;
  rpcUrl: string;
  escrow: Address;
  chainId: number;
  startBlock: number;
  near: number | null;
};
export type AuditAnswer = { verdict: Verdict } | { error: string };

addEventListener("message", async ({ data, ports: [page] }: MessageEvent<AuditQuestion>) => {
  const answer: AuditAnswer = await judge(data).then(
    (verdict) => ({ verdict }),
    (error) => ({ error: firstLine(error) }),
  );
  page?.postMessage(answer);
});

async function judge({ jobId, rpcUrl, escrow, chainId, startBlock, near }: AuditQuestion): Promise<Verdict> {
  const opening = Chain.open({ rpcUrl, escrow, chainId, startBlock: BigInt(startBlock) });
  const chain = await unlessSilent(rpcUrl, opening);
  const id = fromApiJobId(jobId) as Hex;
  const [reader, stored] = await Promise.all([EvidenceReader.begin(chain), chain.storedJob(id)]);
  const evidence = await reader.job(id, null, { stored, ...(near !== null && { near: BigInt(near) }) });
  return verdictOf(evidence, await auditJob(evidence));
}
