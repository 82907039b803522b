import type { RequestHandler } from "express";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { ApiError } from "../errors.ts";
import { clientOf, setServiceHeaders } from "../http/request.ts";
import { readAnswer } from "../jobs/output.ts";
import type { JobReader } from "../jobs/read.ts";
import type { Cipher } from "../store/cipher.ts";
import type { JobStore } from "../store/jobs.ts";

/** `GET /v1/jobs/{job_id}/output`: the answer again, for a client that lost its connection; kept for the retention time. */
export function outputRoute(reader: JobReader, store: JobStore, cipher: Cipher): RequestHandler {
  return async (request, response) => {
    const { job, stored } = await reader.get(String(request.params.job_id), clientOf(request).wallet);
    setServiceHeaders(response, {
      jobId: job.id,
      escrowTx: job.on_chain.escrow_tx,
      settlementTx: job.on_chain.settlement_tx,
      worker: job.worker_address,
    });
    if (job.status === "pending" || job.status === "processing") {
      throw new ApiError("job_not_settled", `${job.id} is ${job.status}: its answer is not complete yet; ask again.`);
    }
    const answer = stored && (await readAnswer(store, cipher, stored));
    if (!answer) {
      throw new ApiError("output_not_found", `No answer of ${job.id} is kept: it had none, or its time is over.`);
    }
    response.json({
      object: "job.output",
      job_id: job.id,
      content: answer.text,
      finish_reason: answer.finishReason,
      proof_hash: toProofHash(answer.proofHash),
      service: answer.statement,
    });
  };
}
