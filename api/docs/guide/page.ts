import { lead, section } from "../blocks.ts";
import { page } from "../page.ts";
import type { Site } from "../site.ts";
import { authorization } from "./authorization.ts";
import { charging } from "./charging.ts";
import { disputes } from "./disputes.ts";
import { errors } from "./errors.ts";
import { idempotency } from "./idempotency.ts";
import { retention } from "./retention.ts";
import { start } from "./start.ts";
import { streaming } from "./streaming.ts";
import { verify } from "./verify.ts";
import { webhooks } from "./webhooks.ts";

const SECTIONS = [
  start,
  streaming,
  charging,
  verify,
  disputes,
  idempotency,
  authorization,
  retention,
  webhooks,
  errors,
];

/** `/docs`: what a client's author reads, from the first call on. */
export function guidePage(site: Site): string {
  const sections = SECTIONS.map((write) => write(site));
  const opening = lead(
    "Chat completions for prepaid credits. Each request locks its price on a blockchain, a worker of a decentralized pool answers and " +
      "signs its answer, and the contract pays it when the signature is verified. You can check every charge without us.",
  );
  return page("/docs", "Guide", sections, `<h1>Guide</h1>${opening}${sections.map(section).join("\n")}`);
}
