/** Rows of a block in one prepared statement a table. Ponder would build a statement with a parameter for each value, and PostgreSQL would plan it. */

type Row = Record<string, unknown>;
type Client = { query: (query: { name: string; text: string; values: [string] }) => Promise<unknown> };
/** A table with its schema, as SQL; `columns`: the names that rows have and those of the table; `keys`: columns of its primary key. */
type Target = { name: string; columns: () => [row: string, table: string][]; keys: () => string[] };
type Shape = { columns: [string, string][]; insert: string; replace: string };

const shapes = new Map<string, Shape>();

function shapeOf({ name, columns: columnsOf, keys }: Target): Shape {
  let shape = shapes.get(name);
  if (shape === undefined) {
    const columns = columnsOf();
    const insert = `INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1)`;
    const set = columns.map(([, column]) => `"${column}" = excluded."${column}"`).join(", ");
    const key = keys().map((column) => `"${column}"`);
    shape = { columns, insert, replace: `${insert} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${set}` };
    shapes.set(name, shape);
  }
  return shape;
}

/** Inserts rows, or replaces those that are there. */
export async function writeRows(
  client: Client,
  kind: "insert" | "replace",
  target: Target,
  rows: readonly Row[],
): Promise<void> {
  const shape = shapeOf(target);
  const values = rows.map((row) => Object.fromEntries(shape.columns.map(([name, column]) => [column, row[name]])));
  const json = JSON.stringify(values, (_, value) => (typeof value === "bigint" ? String(value) : value));
  await client.query({ name: `${kind} ${target.name}`, text: shape[kind], values: [json] });
}
