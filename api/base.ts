import type pg from "pg";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import type { Metrics } from "./observe/metrics.ts";

/** What the `start.ts` of every room gets, and hands to its parts piece by piece: settings, database, and where to report. */
export type Base = { config: Config; pool: pg.Pool; metrics: Metrics; logger: Logger };
