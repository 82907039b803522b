import { code, list, p, type Section, table } from "../blocks.ts";
import type { Site } from "../site.ts";

export const errors = ({ baseUrl }: Site): Section => ({
  id: "errors",
  title: "Errors and retries",
  body: [
    code(
      "every error has this body",
      `{
  "error": {
    "code": "insufficient_credits",
    "message": "The request needs 40 credits on the max tier and 3 are left; add credits in the web application.",
    "type": "payment_error",
    "param": null,
    "docs": "${baseUrl}/docs/errors#insufficient_credits",
    "details": {"credits_remaining": 3, "credits_required": 40, "tier": "max"}
  }
}`,
    ),
    p(
      "`param` names the field at fault, such as `messages[2].role`. [All codes](/docs/errors), with cause, fix and whether to retry.",
    ),
    table([
      ["Status", "Retry?"],
      ["429", "after `Retry-After` seconds; `RateLimit` headers say how much of the burst limit is left"],
      ["500, 503, 504", "yes: nothing was charged. 503 says when in `Retry-After` and `details.retry_after`"],
      ["409 `job_not_settled`", "a little later"],
      ["any other 4xx", "no: the same request gets the same answer"],
    ]),
    list(
      "The SDKs of OpenAI, `ai` and LangChain do this by themselves.",
      "A retry is a new job with a new price. After a lost connection, use an [Idempotency-Key](#idempotency) instead.",
      "There is no rate limit by policy: capacity is priced, and your balance is the limit. The burst limit protects the machine.",
    ),
  ].join("\n"),
});
