import type { Request, Response } from "express";
import { getAddress } from "viem";

/** What a request carries once it is authenticated. */
export type Client = { wallet: `0x${string}`; keyCreatedAt: Date };

declare global {
  namespace Express {
    interface Request {
      /** Set by the request-id middleware. */
      requestId: string;
      /** When it arrived, `performance.now()`. */
      receivedAt: number;
      /** The same as a time. */
      arrivedAt: Date;
      /** Set by authentication; absent before it. */
      client?: Client;
      /** The body's bytes, kept for requests with an Idempotency-Key or an authorization. */
      rawBody?: Buffer;
    }
  }
}

/** The authenticated client of a request; a route that asks without authentication is a programming error. */
export function clientOf(request: Request): Client {
  if (request.client === undefined) throw new Error(`${request.path} is not behind authentication`);
  return request.client;
}

/** Addresses are shown with their EIP-55 checksum, everywhere. */
export function showAddress(address: string): `0x${string}` {
  return getAddress(address);
}

/** The response headers of the specification; undefined ones are left out. */
export type ServiceHeaders = {
  jobId?: string;
  escrowTx?: string | null;
  settlementTx?: string | null;
  worker?: string | null;
  creditsRemaining?: number | undefined;
};

/** Sets the service's response headers. */
export function setServiceHeaders(response: Response, headers: ServiceHeaders): void {
  const { jobId, escrowTx, settlementTx, worker, creditsRemaining } = headers;
  if (jobId) response.setHeader("x-service-job-id", jobId);
  if (escrowTx) response.setHeader("x-service-tx-hash", escrowTx);
  if (settlementTx) response.setHeader("x-service-settlement-tx", settlementTx);
  if (worker) response.setHeader("x-service-worker", showAddress(worker));
  if (creditsRemaining !== undefined) response.setHeader("x-service-credits-remaining", String(creditsRemaining));
}
