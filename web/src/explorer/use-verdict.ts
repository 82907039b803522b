/** The audit of a job in a Web Worker beside the page, as pages ask for it. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Address } from "viem";
import type { ChainJob } from "../../contract.ts";
import { app } from "../data/app.ts";
import type { AuditAnswer, AuditQuestion } from "./audit.ts";
import { useNode } from "./node.tsx";
import type { Verdict } from "./verdict.ts";

let worker: Worker | null = null;

/** The web worker that audits jobs beside the page; a new one if the first could not be loaded. */
function auditor(): Worker {
  if (worker === null) {
    worker = new Worker(new URL("./audit.ts", import.meta.url), { type: "module" });
    worker.addEventListener("error", () => {
      worker = null;
    });
  }
  return worker;
}

const judge = (question: AuditQuestion): Promise<Verdict> =>
  new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<AuditAnswer>) => {
      if ("verdict" in data) resolve(data.verdict);
      else reject(new Error(data.error));
      port1.close();
    };
    const asked = auditor();
    asked.addEventListener("error", () => reject(new Error("The code that checks it could not be loaded.")));
    asked.postMessage(question, [port2]);
  });

/**
 * Asks a node of the visitor's choice for all that the chain says of the job, and judges it here: nobody has to trust this service. `job`:
 * what the service says of it; it is judged anew when the chain has more of it. Nothing is loaded before there is a node and, where the page can
 * wait (`isLate`), a job.
 */
export function useVerdict(jobId: string, job: ChainJob | undefined, isLate = false) {
  const { node, choose } = useNode();
  const seen =
    job && [job.status, ...job.transactions.map(({ hash, block_number }) => `${hash} ${block_number}`)].join();
  // Its code comes while the service is asked.
  useEffect(() => {
    if (node !== null && !isLate) auditor();
  }, [node, isLate]);
  const verdict = useQuery({
    queryKey: ["verdict", jobId, node, seen],
    queryFn: () =>
      judge({
        jobId,
        rpcUrl: node as string,
        escrow: app.contracts["InferenceEscrow"] as Address,
        chainId: app.chain_id,
        startBlock: app.start_block,
        near: job?.transactions[0]?.block_number ?? null,
      }),
    enabled: node !== null && seen !== undefined,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => (before?.audit.job_id === jobId ? before : undefined),
  });
  return { node, choose, verdict };
}
