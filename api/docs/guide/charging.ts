import { DEFAULT_MAX_TOKENS, FLAT_TOKENS } from "../../../protocol/pricing.ts";
import { list, p, type Section, table } from "../blocks.ts";

const number = (value: number) => value.toLocaleString("en-US");

export const charging = (): Section => ({
  id: "charging",
  title: "What a request costs",
  body: [
    p(
      "One credit is worth 0.01 in stablecoin units. Every model has a tier, and the tier a price: a flat one for answers of up to " +
        `${FLAT_TOKENS} output tokens, and one per 1,000 output tokens for longer answers. Prompts are free.`,
    ),
    table([
      ["Tier", "Up to 500 tokens", "Longer, per 1,000 tokens"],
      ["`max`", "40", "20"],
      ["`pro`", "18", "9"],
      ["`standard`", "8", "4"],
      ["`lite`", "2", "1"],
    ]),
    p(
      "A longer answer costs its tokens × price / 1,000, rounded up to a whole credit, but never less than the flat price and never more " +
        "than was locked. Worked examples on the `max` tier:",
    ),
    table([
      ["`max_tokens`", "Locked", "Answer", "Charged", "Returned"],
      ["not given", "40", "300 tokens", "40", "0"],
      ["4,000", "80", "700 tokens", "40 (14 would be less than the flat price)", "40"],
      ["4,000", "80", "3,000 tokens", "60", "20"],
      ["4,000", "80", "none within 120 seconds", "0", "80"],
    ]),
    list(
      "When a request arrives, the price of `max_tokens` is locked in escrow on the chain, before any worker sees it. " +
        `Without \`max_tokens\` an answer may have ${number(DEFAULT_MAX_TOKENS)} tokens (or what the context leaves), which locks the flat price.`,
      "The worker is paid when the contract has verified its signed proof. What is left of the lock comes back in the same transaction.",
      "`x-service-credits-remaining` and `GET /v1/account` show your free credits: neither spent nor locked. While a settlement is on its " +
        "way, `GET /v1/account` counts the charge, not the lock. It never shows more than what is free once the settlement is mined.",
      "No answer, no charge: errors, broken streams and timeouts cost nothing.",
    ),
  ].join("\n"),
});
