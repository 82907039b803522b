import { z } from "zod";

/** Part of an OpenAPI 3.1 document, whose schemas are JSON Schema 2020-12. */
export type Json = Record<string, unknown>;

export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/**
 * Named zod schemas as `components.schemas`. `io: "input"` describes what a client may send, `"output"` what it gets: objects of
 * answers stay open, because a new field is no breaking change (specification, "Versioning").
 */
export function componentSchemas(schemas: Record<string, z.ZodType>, io: "input" | "output"): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const { schemas: generated } = z.toJSONSchema(registry, {
    io,
    uri: (id) => ref(id).$ref,
    override: ({ jsonSchema }) => tidy(jsonSchema as Json, io),
  });
  return Object.fromEntries(
    Object.entries(generated).map(([name, { $schema: _schema, $id: _id, ...schema }]) => [name, schema]),
  );
}

/** One schema of an answer in place. */
export function inlineSchema(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    override: ({ jsonSchema }) => tidy(jsonSchema as Json, "output"),
  });
  return json;
}

/** What zod writes is right and longer than a reader needs. */
function tidy(schema: Json, io: "input" | "output"): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (io === "output" && schema.additionalProperties === false) delete schema.additionalProperties;
  const branches = schema.anyOf as Json[] | undefined;
  const other = branches?.find((branch) => branch.type !== "null");
  if (branches?.length !== 2 || other === undefined || typeof other.type !== "string") return;
  if (!branches.some((branch) => branch.type === "null") || "enum" in other || "const" in other) return;
  delete schema.anyOf;
  const { type, ...rest } = other;
  const own = { ...schema };
  Object.assign(schema, rest, own, { type: [type, "null"] });
}
