type Schema = { [keyword: string]: unknown };

/**
 * Shortens what zod writes. Objects of answers stay open, because a new field is no breaking change (specification, "Versioning"); a field that
 * can be null has a list of types instead of alternatives.
 */
export function tidy({ jsonSchema: schema, io }: { jsonSchema: Schema; io: "input" | "output" }): void {
  if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
  if (io === "output" && schema["additionalProperties"] === false) delete schema["additionalProperties"];
  const branches = schema["anyOf"] as Schema[] | undefined;
  const other = branches?.find(({ type }) => type !== "null");
  if (branches?.length !== 2 || other === undefined || typeof other["type"] !== "string") return;
  if (!branches.some(({ type }) => type === "null") || "enum" in other || "const" in other) return;
  delete schema["anyOf"];
  const { type, ...rest } = other;
  const own = { ...schema };
  Object.assign(schema, rest, own, { type: [type, "null"] });
}
