import { p, type Section, table } from "../blocks.ts";
import type { Site } from "../site.ts";

export const retention = ({ retentionHours }: Site): Section => ({
  id: "retention",
  title: "What is kept, and how long",
  body: [
    table([
      ["What", "Where", "How long"],
      [
        "your prompt",
        "in memory, and at the worker that answers",
        "until the answer is complete; never written to disk or log by us",
      ],
      [
        "the answer",
        "encrypted in our database",
        retentionHours > 0 ? `${retentionHours} hours, then erased` : "not kept at all",
      ],
      [
        "the worker's copy of the answer",
        "at the worker, until it sees the settlement",
        "about a minute; longer only while a job is unsettled",
      ],
      ["idempotency keys, with a hash of the body", "our database", `${Math.max(retentionHours, 24)} hours`],
      ["the job: model, tokens, price, hashes, transactions", "the public chain", "for ever"],
      ["API keys", "our database, as SHA-256 only", "until you revoke them"],
      ["webhook secrets and URLs", "encrypted in our database", "until you delete the webhook"],
      [
        "request logs: time, path, status, job id, request id",
        "our logs",
        "as long as the operator needs them; never a key, prompt or answer",
      ],
    ]),
    p(
      "Answers are kept for three reasons: `GET /v1/jobs/{job_id}/output` after a lost connection, replays of an `Idempotency-Key`, and as " +
        "evidence in a dispute. The chain holds the hash of an answer, never its text. Workers are independent operators: what you send is " +
        "read by the one that answers.",
    ),
  ].join("\n"),
});
