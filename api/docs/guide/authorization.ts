import { code, list, p, type Section } from "../blocks.ts";
import type { Site } from "../site.ts";

export const authorization = ({ baseUrl, appUrl, chainId, escrow, operator }: Site): Section => ({
  id: "authorization",
  title: "Sign each job yourself",
  body: [
    p(
      `This service is operator ${operator} of the protocol: it may lock the credits of wallets that chose operator ${operator}, and of no ` +
        "others. A wallet that wants to trust it with no more than single jobs sets an *authorization key* on the contract " +
        "(`setAuthorizationKey`). From then on every job needs a signature of that key, and can cost what was signed for, at most.",
    ),
    code(
      "JavaScript (viem)",
      `import { createHash, randomBytes } from "node:crypto";

const body = JSON.stringify({ model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }] });
const now = Date.now();
// A UUIDv7: 48 bits of milliseconds, then random bits.
const id = randomBytes(16);
id.writeUIntBE(now, 0, 6);
id[6] = (id[6] & 0x0f) | 0x70;
id[8] = (id[8] & 0x3f) | 0x80;
const message = {
  jobId: \`0x\${id.toString("hex")}\`,
  wallet: WALLET,
  operator: ${operator},
  model: 5, // its number in the catalog
  maxTokens: 2000,
  maxCredits: 8,
  requestHash: \`0x\${createHash("sha256").update(body).digest("hex")}\`,
  expiresAt: Math.floor(now / 1000) + 300,
};
const signature = await authorizationKey.signTypedData({
  domain: { name: "InferenceEscrow", version: "1", chainId: ${chainId}, verifyingContract: "${escrow}" },
  types: {
    Authorization: [
      { name: "jobId", type: "bytes16" },
      { name: "wallet", type: "address" },
      { name: "operator", type: "uint8" },
      { name: "model", type: "uint16" },
      { name: "maxTokens", type: "uint32" },
      { name: "maxCredits", type: "uint32" },
      { name: "requestHash", type: "bytes32" },
      { name: "expiresAt", type: "uint40" },
    ],
  },
  primaryType: "Authorization",
  message,
});
const response = await fetch("${baseUrl}/v1/chat/completions", {
  method: "POST",
  headers: {
    authorization: \`Bearer \${process.env.SERVICE_API_KEY}\`,
    "content-type": "application/json",
    "x-service-authorization":
      \`job_id=job_\${message.jobId.slice(2)};max_tokens=\${message.maxTokens};max_credits=\${message.maxCredits};\` +
      \`expires_at=\${message.expiresAt};signature=\${signature}\`,
  },
  body,
});`,
    ),
    list(
      "`requestHash` is the SHA-256 of the body's bytes as they are sent, before any compression.",
      `The contracts and the operator are in [${appUrl}/api/config](${appUrl}/api/config), the models' numbers in ` +
        `[${appUrl}/api/models](${appUrl}/api/models).`,
      "The price of `max_tokens` is locked, and must not be above `max_credits`. A body without `max_tokens` gets as many as were signed, " +
        "2,000 at most; one that asks for more is refused.",
      "The job id is made within 60 seconds of now, and the signature expires within 10 minutes.",
      "An id is good for one job. The same request with the same header gets the same answer, as with an [Idempotency-Key](#idempotency); " +
        "anything else with that id is 409 `conflict`. After an error that came before the escrow (400, 402, 403) the same header can be sent " +
        "again; once a job had it, a new one must be signed.",
      "A signature by another key is 403 `authorization_invalid`: `details.message` is the message that was checked.",
    ),
  ].join("\n"),
});
