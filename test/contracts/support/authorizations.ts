/** Locks of a wallet with an authorization key, with everything defaulted to a good case. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { getAddress, type Hex, keccak256, toBytes } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import type { Authorization } from "../../../protocol/messages.ts";
import { jobId, signingKey } from "./actors.ts";
import { now } from "./chain.ts";
import { type Job, LOCK_TOKENS } from "./jobs.ts";
import { type Signature, signAuthorization } from "./sign.ts";
import { MODEL, OPERATOR, type World } from "./world.ts";

/** The client's authorization key. */
export const AUTHORIZATION_KEY = signingKey("authorizations of the client");
/** Stands for the SHA-256 of a request's body. */
export const REQUEST_HASH: Hex = keccak256(toBytes("a request"));

/** The client signs each of its jobs from now on. */
export async function requireAuthorization(world: World, key = AUTHORIZATION_KEY): Promise<void> {
  await world.escrow.connect(world.client).setAuthorizationKey(key.address);
}

/** Consent to a job like that of `lockJob`, good for a minute. */
export async function authorizationOf(world: World, overrides: Partial<Authorization> = {}): Promise<Authorization> {
  const time = await now();
  return {
    jobId: jobId(time),
    wallet: getAddress(world.client.address),
    operator: OPERATOR,
    model: MODEL,
    maxTokens: LOCK_TOKENS,
    maxCredits: 80,
    requestHash: REQUEST_HASH,
    expiresAt: time + 60,
    ...overrides,
  };
}

type AuthorizedOptions = Partial<Authorization> & {
  key?: PrivateKeyAccount;
  gateway?: HardhatEthersSigner;
  signature?: Signature;
};

/** Sends an authorized lock. */
export async function sendLockAuthorized(world: World, options: AuthorizedOptions = {}) {
  const { key = AUTHORIZATION_KEY, gateway = world.gateway, signature, ...overrides } = options;
  const authorization = await authorizationOf(world, overrides);
  const byKey = signature ?? (await signAuthorization(world.escrow, key, authorization));
  return await world.escrow.connect(gateway).lockAuthorized(authorization, byKey);
}

/** A job locked with an authorization. */
export async function lockAuthorizedJob(world: World, options: AuthorizedOptions = {}): Promise<Job> {
  const id = options.jobId ?? jobId(await now());
  await sendLockAuthorized(world, { ...options, jobId: id });
  return { id, lockedAt: await now() };
}
