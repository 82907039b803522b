import type { RequestHandler } from "express";
import type { Hex } from "viem";
import { fromProofHash, toProofHash } from "../../protocol/answer-hash.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { DisputeDesk } from "../disputes/desk.ts";
import type { JobReader } from "../jobs/job-reader.ts";
import { disputeBodySchema } from "../schemas/dispute.ts";
import { clientOf, setServiceHeaders, validate } from "./request.ts";

/** `POST /v1/jobs/{job_id}/dispute`. The request counts from its arrival, however long its body or the settlement take. */
export function disputeRoute(reader: JobReader, desk: DisputeDesk, arbitrationSeconds: number): RequestHandler {
  return async (request, response) => {
    const { wallet } = clientOf(request);
    const body = validate(disputeBodySchema, request.body);
    const receivedHash = fromProofHash(body.received_output_hash) as Hex;
    const { job, stored, row } = await reader.get(String(request.params.job_id), wallet);
    const jobId = fromApiJobId(job.id) as Hex;
    setServiceHeaders(response, {
      jobId: job.id,
      escrowTx: job.on_chain.escrow_tx,
      settlementTx: job.on_chain.settlement_tx,
      worker: job.worker_address,
    });
    const result = await desk.request({ jobId, wallet, stored, row }, receivedHash, request.arrivedAt);
    const after = (await reader.get(job.id, wallet)).job;
    setServiceHeaders(response, { settlementTx: after.on_chain.settlement_tx, worker: after.worker_address });
    response.json({
      job_id: job.id,
      dispute_opened: result.kind === "opened",
      your_hash: toProofHash(receivedHash),
      worker_hash: toProofHash(result.workerHash),
      dispute_tx: result.kind === "opened" ? result.tx : null,
      // Test deployments shorten the window; a client is told whole hours.
      arbitration_window_hours: Math.ceil(arbitrationSeconds / 3_600),
    });
  };
}
