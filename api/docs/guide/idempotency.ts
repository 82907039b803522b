import { code, list, p, type Section } from "../blocks.ts";
import type { Site } from "../site.ts";

export const idempotency = ({ baseUrl, retentionHours }: Site): Section => ({
  id: "idempotency",
  title: "Pay once: Idempotency-Key",
  body: text(baseUrl, retentionHours, Math.max(retentionHours, 24)),
});

const text = (baseUrl: string, retentionHours: number, keysKept: number): string =>
  [
    p(
      "A connection can break after the worker has answered. With an `Idempotency-Key` of your own the same request can be sent again and is paid once.",
    ),
    code(
      "curl",
      `curl ${baseUrl}/v1/chat/completions -H "Idempotency-Key: order-4711" \\
  -H "Authorization: Bearer $SERVICE_API_KEY" -H "Content-Type: application/json" -d @request.json`,
    ),
    list(
      "1 to 255 visible ASCII characters, yours alone: keys of other wallets are separate.",
      "The same key with the same body gives the same job and the same text, with `Idempotent-Replayed: true`; while the first request still " +
        "runs, the second one waits for it.",
      "The same key with another body: 409 `conflict`.",
      "Errors are not kept: a request that failed can be sent again with its key.",
      retentionHours > 0
        ? `Keys and answers are kept for ${keysKept} hours; after that a key is new again.`
        : `This service keeps no answers: a repetition is 409 \`conflict\`, never a second charge, for ${keysKept} hours.`,
    ),
  ].join("\n");
