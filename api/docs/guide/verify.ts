import { code, h3, list, note, p, type Section } from "../blocks.ts";
import type { Site } from "../site.ts";

export const verify = ({ baseUrl, transactionUrl, chainId, escrow }: Site): Section => ({
  id: "verify",
  title: "Verify a charge yourself",
  body: [
    p("Every job names its transactions. Nothing in them has to be believed from us: they are public."),
    code(
      "the job of a request",
      `curl ${baseUrl}/v1/jobs/job_… -H "Authorization: Bearer $SERVICE_API_KEY"
# … "on_chain": {"escrow_tx": "0x…", "settlement_tx": "0x…", "escrow_address": "${escrow}",
#                "block_number": 4711, "proof_hash": "sha256:…"}`,
    ),
    list(
      `Look a transaction up at \`${transactionUrl}\`, or with any node of chain ${chainId}.`,
      "The escrow transaction shows the balance's debit, the lock, the tier and the job id.",
      "The settlement transaction shows the escrow's release, the transfer to the worker, the treasury's share of all jobs in it as one " +
        "transfer, and the proof's hash.",
      "The proof's hash is the SHA-256 of the answer's text, UTF-8. Compute it from what you received:",
    ),
    code("shell (the text exactly, with no newline after it)", `printf %s "$ANSWER" | sha256sum`),
    h3("The worker's signature"),
    p(
      "Every answer carries `service`: the worker's EIP-712 signature of job id, hash, token counts and time. It proves what the worker " +
        "said without asking the chain or us; stock clients pass it over.",
    ),
    code(
      "viem",
      `import { verifyTypedData } from "viem";

const { service } = await response.json();
await verifyTypedData({
  address: service.worker_address,
  domain: { name: "InferenceEscrow", version: "1", chainId: ${chainId}, verifyingContract: "${escrow}" },
  types: {
    Completion: [
      { name: "jobId", type: "bytes16" },
      { name: "proofHash", type: "bytes32" },
      { name: "promptTokens", type: "uint32" },
      { name: "completionTokens", type: "uint32" },
      { name: "completedAt", type: "uint40" },
    ],
  },
  primaryType: "Completion",
  message: service.completion,
  signature: service.signature,
});`,
    ),
    note(
      "In a clone of the project, `npm run verify-job -- <job id or transaction>` recomputes a whole job from the chain alone.",
    ),
  ].join("\n"),
});
