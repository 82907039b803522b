import { escapeHtml, html } from "../page.ts";

/** The parts of JSON Schema that our document uses. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  default?: unknown;
  examples?: unknown[];
};
export type Schemas = Record<string, Schema>;

export function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined
    ? schema
    : { ...(schemas[name] as Schema), ...(schema.description ? { description: schema.description } : {}) };
}

/** The fields of an object, nested ones below theirs. */
export function fields(schema: Schema, schemas: Schemas): string {
  const { properties = {}, required = [] } = objectOf(schema, schemas);
  const items = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '<span class="required">required</span>' : "";
    return item(name, resolve(field, schemas), schemas, mark);
  });
  return items.length === 0 ? "" : `<ul class="fields">${items.join("")}</ul>`;
}

/** One named value: a field, a parameter or a header. */
export function item(name: string, schema: Schema, schemas: Schemas, mark = ""): string {
  const notes = [schema.description, limits(schema)].filter(Boolean).map((text) => `<p>${html(text as string)}</p>`);
  return `<li><code>${escapeHtml(name)}</code><span class="type">${escapeHtml(typeName(schema, schemas))}</span>${mark}${notes.join("")}${fields(schema, schemas)}</li>`;
}

/** The object whose fields are to be shown: the schema's own, or those of its array's items. */
function objectOf(schema: Schema, schemas: Schemas): Schema {
  const resolved = resolve(schema, schemas);
  return resolved.items === undefined ? resolved : objectOf(resolved.items, schemas);
}

function typeName(schema: Schema, schemas: Schemas): string {
  const resolved = resolve(schema, schemas);
  if (resolved.const !== undefined) return JSON.stringify(resolved.const);
  const branches = resolved.anyOf ?? resolved.oneOf;
  if (branches) return [...new Set(branches.map((branch) => typeName(branch, schemas)))].join(" or ");
  const types = [resolved.type ?? "any"]
    .flat()
    .map((type) => (type === "array" ? `array of ${typeName(resolved.items ?? {}, schemas)}` : type));
  return types.join(" or ");
}

function limits(schema: Schema): string {
  const range = (low: unknown, high: unknown, what: string) => {
    if (low !== undefined && high !== undefined) return `${low} to ${high}${what}`;
    if (low !== undefined && low !== 0) return `at least ${low}${what}`;
    return high === undefined ? null : `at most ${high}${what}`;
  };
  const parts = [
    schema.enum && `One of ${schema.enum.map((value) => `\`${value}\``).join(", ")}`,
    range(schema.minimum, schema.maximum, ""),
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minItems, schema.maxItems, " items"),
    schema.default !== undefined && `default \`${JSON.stringify(schema.default)}\``,
    schema.examples?.length && typeof schema.examples[0] !== "object" && `for example \`${schema.examples[0]}\``,
  ].filter(Boolean);
  const text = parts.join("; ");
  return text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}
