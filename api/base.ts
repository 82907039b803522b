import type pg from "pg";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import type { Metrics } from "./observe/metrics.ts";

/** The parameter of every folder's `start.ts`, which hands it to its parts piece by piece: settings, database, and where to report. */
export type Base = { config: Config; pool: pg.Pool; metrics: Metrics; logger: Logger };
