import { code, list, p, type Section } from "../blocks.ts";
import type { Site } from "../site.ts";

export const disputes = ({ baseUrl }: Site): Section => ({
  id: "disputes",
  title: "Dispute an answer",
  body: [
    p(
      "If the text you received does not have the hash that the worker signed, you can dispute the job within 60 seconds of the final " +
        "token. Arbiters then rule within 24 hours; a worker found at fault loses stake and you get your credits back.",
    ),
    code(
      "curl",
      `curl -X POST ${baseUrl}/v1/jobs/job_…/dispute \\
  -H "Authorization: Bearer $SERVICE_API_KEY" -H "Content-Type: application/json" \\
  -d "{\\"received_output_hash\\": \\"sha256:$(printf %s "$ANSWER" | sha256sum | cut -d' ' -f1)\\"}"`,
    ),
    list(
      "`dispute_opened: true`: the hashes differ. The job is `disputed`, `dispute_tx` is the transaction.",
      "`dispute_opened: false`: the hashes are equal. You have what the worker signed, and there is nothing to dispute.",
      "A job that is still settling is waited for, up to 30 seconds; then the answer is 409 `job_not_settled`. Send the request again: it " +
        "counts from its first arrival.",
      "The arbiters rule after the contract's own window is over. Until then your wallet can add a hash of its own to the dispute " +
        "(`joinDispute`), without a bond.",
      "After 60 seconds: 422 `dispute_window_expired`. A second dispute of one job: 409 `dispute_already_open`.",
    ),
  ].join("\n"),
});
