/** What a program that speaks to the protocol's contracts needs: ABIs, addresses, messages to sign, and the words of events and prices. */
export * from "../protocol/answer-hash.ts";
export * from "../protocol/delivery.ts";
export * from "../protocol/digests.ts";
export * from "../protocol/events.ts";
export * from "../protocol/generated/abi.ts";
export * from "../protocol/job-id.ts";
export * from "../protocol/job-status.ts";
export * from "../protocol/messages.ts";
export * from "../protocol/money.ts";
export * from "../protocol/pricing.ts";
export * from "../protocol/tiers.ts";
export * from "../protocol/words.ts";
export { addresses, type Contracts } from "./addresses.ts";
