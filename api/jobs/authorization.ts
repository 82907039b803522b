/**
 * A client's signed consent to one job, as the request's header `x-service-authorization` carries it:
 *
 *   job_id=job_…;max_tokens=2000;max_credits=8;expires_at=1767225900;signature=0x…
 *
 * The rest of the EIP-712 message `Authorization` follows from the request: the key's wallet, this service's operator, the model's number
 * in the catalog, and the SHA-256 of the body. The contract checks all of it again; what it would refuse is refused here, where it costs
 * nobody gas.
 */
import { type Address, type Hex, isAddressEqual, zeroAddress } from "viem";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { Authorization } from "../../protocol/messages.ts";
import { quote } from "../../protocol/pricing.ts";
import { jobDigests } from "../../shared/keccak.ts";
import { recoverSigner } from "../../shared/secp256k1.ts";
import type { Model } from "../chain/directory.ts";
import type { Operator } from "../chain/operator.ts";
import type { Head } from "../chain/rpc.ts";
import { ApiError } from "../errors.ts";
import type { SigningDomain } from "../workers/signatures.ts";
import type { JobTimes } from "./next-step.ts";

/** Carries the consent. */
export const AUTHORIZATION_HEADER = "x-service-authorization";

/** The header's fields. */
export type ClientAuthorization = {
  jobId: Hex;
  maxTokens: number;
  maxCredits: number;
  expiresAt: number;
  signature: Hex;
};

/** The whole message, with a signature that was checked. */
export type SignedAuthorization = { message: Authorization; signature: Hex };

/** What an authorization is checked against. */
export type AuthorizationParts = SigningDomain & {
  operator: Pick<Operator, "id">;
  head: Pick<Head, "time">;
  times: Pick<JobTimes, "queue" | "lock">;
};

/**
 * Longest time that an authorization may be signed ahead, seconds. The contract allows 600 from the block's time, which can be behind this machine's
 * clock: such locks would revert at our cost. On a chain that is further behind, they do, and count against their wallet.
 */
const LONGEST_SPAN = 540;
/** It must outlive the wait for a place (`QUEUE_SECONDS`) and the time in which the lock may then be mined (`LOCK_SECONDS`). */
const leastSpan = ({ queue, lock }: AuthorizationParts["times"]): number => queue + lock;
/** How far the time in a job id may be from ours, seconds. The contract allows 300: the lock is mined a while later. */
const ID_SPAN = 60;

const uint = (digits: string): number | null => (/^(0|[1-9]\d{0,12})$/.test(digits) ? Number(digits) : null);
const uint32 = (digits: string): number | null => {
  const value = uint(digits);
  return value !== null && value > 0 && value <= 0xffff_ffff ? value : null;
};

/** For each field, the function that reads it, and the words of the error if it cannot be read. */
const FIELDS = {
  job_id: [fromApiJobId, "`job_` and 32 hex digits, in lower case"],
  max_tokens: [uint32, "a whole number of tokens"],
  max_credits: [uint32, "a whole number of credits"],
  expires_at: [uint, "Unix seconds"],
  signature: [(text: string) => (/^0x[0-9a-fA-F]{130}$/.test(text) ? (text as Hex) : null), "0x and 130 hex digits"],
} as const;
type Field = keyof typeof FIELDS;

/** Reads the header. Throws `invalid_request` that says what is wrong with it. */
export function parseAuthorization(header: string): ClientAuthorization {
  const given = new Map<string, string>();
  for (const part of header.split(";")) {
    const [name = "", ...value] = part.split("=");
    const key = name.trim();
    if (!Object.hasOwn(FIELDS, key))
      throw unauthorizable(`'${key.slice(0, 40)}' is no field of it; its fields are ${Object.keys(FIELDS).join(", ")}`);
    if (given.has(key)) throw unauthorizable(`it has ${key} twice`);
    given.set(key, value.join("=").trim());
  }
  const read = <Name extends Field>(name: Name) => {
    const text = given.get(name);
    if (text === undefined) throw unauthorizable(`${name} is missing`);
    const [parse, form] = FIELDS[name];
    const value = parse(text);
    if (value === null) throw unauthorizable(`${name} must be ${form}`);
    return value as NonNullable<ReturnType<(typeof FIELDS)[Name][0]>>;
  };
  return {
    jobId: read("job_id"),
    maxTokens: read("max_tokens"),
    maxCredits: read("max_credits"),
    expiresAt: read("expires_at"),
    signature: read("signature"),
  };
}

/** The properties of a request that its authorization is compared with. `maxTokens`: the most output tokens it asks for. */
type AuthorizedRequest = { wallet: Address; model: Model; maxTokens: number; bodyHash: Buffer };

/** Checks an authorization as the contract will. `key`: the wallet's authorization key, zero for none. */
export function checkAuthorization(
  parts: AuthorizationParts,
  authorization: ClientAuthorization,
  { wallet, model, maxTokens, bodyHash }: AuthorizedRequest,
  key: Address,
): SignedAuthorization {
  const { signature, ...signed } = authorization;
  const now = parts.head.time;
  checkId(signed.jobId, now);
  if (signed.expiresAt <= now) throw unauthorizable(`it expired at ${signed.expiresAt}, and now is ${now}`);
  // The contract would refuse a lock that is mined too late, at this gateway's cost.
  const least = now + leastSpan(parts.times);
  if (signed.expiresAt < least) {
    throw unauthorizable(
      `expires_at must be at least ${least}, so that the lock is mined before; it is ${signed.expiresAt}`,
    );
  }
  if (signed.expiresAt > now + LONGEST_SPAN) {
    throw unauthorizable(`expires_at must be within ${LONGEST_SPAN} seconds of now, ${now}; it is ${signed.expiresAt}`);
  }
  if (signed.maxTokens > model.contextWindow) {
    throw unauthorizable(`max_tokens is more than the ${model.contextWindow} tokens of '${model.id}'`);
  }
  if (maxTokens > signed.maxTokens) {
    throw unauthorizable(`the request asks for ${maxTokens} tokens, and max_tokens is ${signed.maxTokens}`);
  }
  const credits = quote(signed.maxTokens, model);
  if (credits > signed.maxCredits) {
    throw unauthorizable(`${signed.maxTokens} tokens of '${model.id}' lock ${credits} credits, more than max_credits`);
  }
  const requestHash: Hex = `0x${bodyHash.toString("hex")}`;
  const message = { ...signed, wallet, operator: parts.operator.id, model: model.number, requestHash };
  const signer = signerOf(parts, message, signature);
  if (key === zeroAddress || signer === null || !isAddressEqual(signer, key)) {
    throw authorizationInvalid(key, signer, message);
  }
  return { message, signature };
}

/** A UUIDv7 that was made about now. */
function checkId(jobId: Hex, now: number): void {
  const isUuid7 = jobId[14] === "7" && /[89ab]/.test(jobId[18] as string);
  const seconds = Math.floor(Number.parseInt(jobId.slice(2, 14), 16) / 1000);
  if (!isUuid7) throw unauthorizable("job_id must be a UUIDv7");
  if (Math.abs(seconds - now) > ID_SPAN) {
    throw unauthorizable(`job_id must be made within ${ID_SPAN} seconds of now, ${now}; its time is ${seconds}`);
  }
}

function signerOf({ chainId, escrow }: SigningDomain, message: Authorization, signature: Hex) {
  return recoverSigner(jobDigests(chainId, escrow).authorization(message), signature);
}

/** 400: the header is not what this request needs. */
export function unauthorizable(why: string): ApiError {
  return new ApiError("invalid_request", `${AUTHORIZATION_HEADER}: ${why}`, { param: AUTHORIZATION_HEADER });
}

/** 403: the wallet demands a signature for each job. */
export function authorizationRequired(): ApiError {
  return new ApiError(
    "authorization_required",
    `The wallet has set an authorization key: send that key's signature for this job in ${AUTHORIZATION_HEADER}.`,
  );
}

/** 403: not signed by the wallet's key. `message`: what was checked, for a client to compare with its own. */
export function authorizationInvalid(key: string, signer: string | null, message?: Authorization): ApiError {
  const why =
    key === zeroAddress
      ? "the wallet has no authorization key: leave the header out, or set a key with the wallet (setAuthorizationKey)"
      : `it is not signed by the wallet's authorization key ${key}`;
  return new ApiError("authorization_invalid", `${AUTHORIZATION_HEADER}: ${why}.`, {
    param: AUTHORIZATION_HEADER,
    details: { key: key === zeroAddress ? null : key, signer, ...(message && { message }) },
  });
}
