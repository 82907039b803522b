/** Builds what takes disputes and what ends them. */
import type { Base } from "../base.ts";
import type { Chain } from "../chain/start.ts";
import { DisputeStore } from "../db/disputes.ts";
import { countLostDisputes, ifIndexed } from "../db/index-reads.ts";
import type { Jobs } from "../jobs/start.ts";
import { DisputeCloser } from "./closer.ts";
import { DisputeDesk } from "./desk.ts";

/** `start` takes up the requests that earlier processes left; call it when no transaction of an earlier process is open any more. */
export function createDisputes({ config, pool, metrics }: Base, chain: Chain, { parts, reader }: Jobs) {
  const { rpc, contracts, signerLock } = chain;
  const requests = new DisputeStore(pool);
  const desk = new DisputeDesk({
    jobs: parts,
    rpc,
    disputes: requests,
    metrics,
    waitMs: config.DISPUTE_WAIT_SECONDS * 1000,
    registry: contracts.WorkerRegistry,
    indexed: (jobId) => reader.indexed(jobId),
    lost: (wallet, from) => ifIndexed(countLostDisputes(pool, wallet, from), 0),
    signer: signerLock,
  });
  const closer = new DisputeCloser({
    jobs: parts,
    rpc,
    index: pool,
    stablecoin: contracts.Stablecoin,
    signer: signerLock,
  });
  const start = (): void => {
    desk.start();
    closer.start();
  };
  const stop = (): void => {
    desk.stop();
    closer.stop();
  };
  return { requests, desk, start, stop };
}
