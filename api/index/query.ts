import pg from "pg";
import { INDEX_SCHEMA } from "../../protocol/index-schema.ts";

/** Any pool or client. */
export type Reader = Pick<pg.Pool, "query">;

/** The index is not there, or not yet in the shape this build reads: it is being built. Worth a retry. */
export class IndexUnavailable extends Error {
  constructor(cause: unknown) {
    super("The index of the chain is being built.", { cause });
    this.name = "IndexUnavailable";
  }
}

// No schema, no table, or a column that the views of an earlier build lack.
const ABSENT = new Set(["3F000", "42P01", "42703"]);

/** Name of a view of the index, for SQL. */
export const view = (name: string): string => `"${INDEX_SCHEMA}".${name}`;

/** Integers of 64 bits are numbers here: credits, times and positions all fit. Stakes are cast to text in their query. */
const types = {
  getTypeParser: (oid: number, format?: unknown) =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

/** Runs a prepared statement. One name stands for one text, so that each connection parses and plans it once. */
export async function read<Row>(reader: Reader, name: string, text: string, values: unknown[]): Promise<Row[]> {
  try {
    const { rows } = await reader.query({ name: `index_${name}`, text, values, types } as pg.QueryConfig);
    return rows as Row[];
  } catch (error) {
    if (ABSENT.has((error as { code?: string }).code ?? "")) throw new IndexUnavailable(error);
    throw error;
  }
}

/** `SELECT` list that turns columns into properties: `{ escrowTx: "escrow_tx" }` → `escrow_tx AS "escrowTx"`. */
export function columns<Row>(map: Record<keyof Row & string, string>): string {
  return Object.entries<string>(map)
    .map(([property, column]) => `${column} AS "${property}"`)
    .join(", ");
}
