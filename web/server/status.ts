/** The state of the service, for everybody and for monitors. Below /app/api. */
import type { RequestHandler } from "express";
import type { Directory } from "../../api/chain/directory.ts";
import type { Head } from "../../api/chain/rpc.ts";
import { getHead, ifIndexed } from "../../api/db/index-reads.ts";
import { observedModels } from "../../api/db/observations.ts";
import { type Reader, sharedRead } from "../../api/db/pool.ts";
import { type CheckedParts, gatewayChecks } from "../../api/routes/health.ts";
import type { WorkerPool } from "../../api/workers/worker-pool.ts";
import type * as contract from "../contract.ts";

/** An index that is further behind shows lists that are old. */
const INDEX_LAG_BLOCKS = 20;
/** One look serves all who ask within this time. */
const SHARED_MS = 1_000;

type Part = contract.Status["parts"][number];

export type StatusParts = CheckedParts & {
  pool: Reader;
  head: Pick<Head, "block" | "silentMs">;
  directory: Pick<Directory, "models">;
  workers: Pick<WorkerPool, "hosts" | "isDemo">;
};

/**
 * `GET /status`, without a sign-in: `{status, checked_at, parts: [{name, ok, says}], models: [{id, active_workers, demo, uptime_24h}]}`. `down`, with
 * HTTP 503: chat requests are refused. `degraded`: the index is behind, or a model has no worker. Retired models are left out.
 */
export function statusRoute(parts: StatusParts): RequestHandler {
  const { pool, head, directory, workers } = parts;
  const seen = observedModels(pool);
  const look = sharedRead(
    async (): Promise<contract.Status> => {
      const [indexed, observed] = await Promise.all([
        ifIndexed(getHead(pool), null).catch(() => undefined),
        seen().catch(() => new Map<number, { uptime: number | null }>()),
      ]);
      const checks = gatewayChecks(parts);
      const models = directory.models().map(({ number, id }) => ({
        id,
        active_workers: workers.hosts(number).length,
        demo: workers.isDemo(number),
        uptime_24h: observed.get(number)?.uptime ?? null,
      }));
      const lag = indexed == null ? null : Math.max(0, head.block.number - indexed.blockNumber);
      const isUp = checks.signer && checks.settlement && checks.mining && checks.recovery && checks.accepting;
      const listed: Part[] = [
        { name: "gateway", ok: isUp, says: isUp ? "takes requests" : "refuses chat requests for the moment" },
        {
          name: "chain",
          ok: checks.chain,
          says: `block ${head.block.number}, its node answered ${Math.round(head.silentMs / 1_000)} s ago`,
        },
        { name: "database", ok: indexed !== undefined, says: indexed === undefined ? "does not answer" : "answers" },
        {
          name: "index",
          ok: lag !== null && lag <= INDEX_LAG_BLOCKS,
          says: lag === null ? "is being built" : lag === 0 ? "has every block" : `${lag} blocks behind the chain`,
        },
      ];
      return { status: stateOf(listed, models), checked_at: new Date().toISOString(), parts: listed, models };
    },
    Date.now,
    () => SHARED_MS,
  );
  return async (_request, response) => {
    const found = await look();
    response.status(found.status === "down" ? 503 : 200).json(found);
  };
}

/** Chat requests need every part but the index. */
function stateOf(parts: readonly Part[], models: readonly { active_workers: number }[]): contract.Status["status"] {
  if (parts.some(({ name, ok }) => name !== "index" && !ok)) return "down";
  if (models.length > 0 && models.every(({ active_workers }) => active_workers === 0)) return "down";
  const isWhole = parts.every(({ ok }) => ok) && models.every(({ active_workers }) => active_workers > 0);
  return isWhole ? "ok" : "degraded";
}
