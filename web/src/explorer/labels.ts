/** Names of contracts and parameters as pages show them; without the ABIs, which are loaded only to decode. */
import type { Address } from "viem";

/** Contracts of the deployment, by their name in the deployment file. */
export type Contracts = Record<string, Address>;
/** Lower-case address → name of the deployment's contract. */
export type Names = ReadonlyMap<string, string>;

export const namesOf = (contracts: Contracts): Names =>
  new Map(Object.entries(contracts).map(([name, address]) => [address.toLowerCase(), name]));

/** The labels of parameters whose Solidity names say too little; other names are split at their capitals. */
const LABELS: Record<string, string> = {
  jobId: "job",
  credits: "amount",
  creditsPerRequest: "price per request",
  creditsPer1kTokens: "price per 1,000 tokens",
  feeBps: "protocol fee",
  free: "free balance after",
  escrowed: "in escrow after",
  workerUnits: "to the worker",
  operatorShare: "operator's share of the fee",
  operatorUnits: "to the operator",
  treasuryUnits: "to the treasury",
  disputed: "held by the dispute after",
  proofHash: "proof (SHA-256 of the answer)",
  receivedHash: "hash the client received",
  workerHash: "hash the worker signed",
  billedTokens: "billed output tokens",
  completionTokens: "output tokens",
  reasoningTokens: "tokens of reasoning",
  textBytes: "bytes of text",
  returned: "credits returned",
  ruleBefore: "to be ruled before",
  ruleFrom: "no ruling before",
  byOperator: "opened by the operator",
  disputeBefore: "can be disputed without a bond before",
  reserve: "operator's reserve after",
  held: "held for disputes after",
  requestHash: "SHA-256 of the request",
  r: "worker's signature (r)",
  vs: "worker's signature (vs)",
  sequence: "event number",
};

export const labelOf = (name: string): string =>
  LABELS[name] ?? name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);

/** Any argument as text. */
export const textOf = (value: unknown): string =>
  typeof value === "object"
    ? JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? inner.toString() : inner))
    : String(value);
