/** Values that break one constraint of a JSON schema each: the schema of a request against the server that checks it. */

export type JsonSchema = Record<string, unknown>;
export type Violation = { name: string; value: unknown };

/** Keywords that allow nothing less than without them. */
const NOTES = ["description", "examples", "default", "format"];
const OF_EACH_TYPE = [5, "text", true, {}, [], null, 1.5];

type Breaker = (limit: never, good: unknown) => unknown[];
const copy = <T>(value: T): T => structuredClone(value);

const BREAKERS: Record<string, Breaker> = {
  type: (types: string | string[]) => OF_EACH_TYPE.filter((value) => ![types].flat().some((type) => isOf(value, type))),
  const: () => ["something else"],
  enum: () => ["something else"],
  minimum: (least: number) => [least - 1],
  maximum: (most: number) => [most + 1],
  pattern: (allowed: string) => ["?", "\0", "a b"].filter((value) => value.match(allowed) === null),
  minLength: (least: number) => ["x".repeat(least - 1)],
  maxLength: (most: number) => [`https://${"x".repeat(most)}`],
  minItems: (least: number) => [Array(least - 1).fill("x")],
  maxItems: (most: number) => [Array(most + 1).fill("x")],
  required: (names: string[], good) =>
    names.map((missing) => Object.fromEntries(Object.entries(Object(good)).filter(([name]) => name !== missing))),
  additionalProperties: (allowed: unknown, good) => (allowed === false ? [{ ...Object(good), unknown_field: 1 }] : []),
};

function isOf(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (Array.isArray(value) || value === null) return type === "array" && value !== null;
  return typeof value === type;
}

/** Each constraint below `schema`, with `good` changed to break it. Throws at a keyword that it does not know. */
export function violations(schema: JsonSchema, good: unknown, at = "body"): Violation[] {
  return Object.entries(schema).flatMap(([keyword, limit]): Violation[] => {
    if (NOTES.includes(keyword)) return [];
    if (keyword === "properties") {
      return Object.entries(limit as Record<string, JsonSchema>).flatMap(([name, inner]) =>
        violations(inner, Object(good)[name], `${at}.${name}`).map(({ name: path, value }) => ({
          name: path,
          value: { ...copy(Object(good)), [name]: value },
        })),
      );
    }
    if (keyword === "items") {
      return violations(limit as JsonSchema, Object(good)[0], `${at}[0]`).map(({ name, value }) => ({
        name,
        value: [value],
      }));
    }
    if (keyword === "anyOf") return branches(limit as JsonSchema[], good, at);
    // Told apart by their type: what breaks the good value's own one fits no other.
    if (keyword === "oneOf") return violations(branchOf(limit as JsonSchema[], good), good, at);
    const breaker = BREAKERS[keyword];
    if (breaker === undefined) throw new Error(`${at}: the test does not know how to break '${keyword}'`);
    return breaker(limit as never, good).map((value, i) => ({ name: `${at} against ${keyword} (${i + 1})`, value }));
  });
}

/** The branch that has the type of the good value. */
function branchOf(schemas: JsonSchema[], good: unknown): JsonSchema {
  const typeOf = ({ properties }: JsonSchema) => Object(Object(properties)["type"])["const"];
  return schemas.find((schema) => typeOf(schema) === Object(good)["type"]) as JsonSchema;
}

/** What breaks one branch may fit another: a value that fits none, and what is inside of lists. */
function branches(schemas: JsonSchema[], good: unknown, at: string): Violation[] {
  const open = schemas.filter(({ type }) => type !== "null");
  const inside =
    open.length === 1
      ? open
      : open.map((schema) => Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== "type")));
  return [
    { name: `${at} against anyOf`, value: { neither: "this", nor: "that" } },
    ...inside.flatMap((schema) => violations(schema, good, at)).filter(({ value }) => value !== null),
  ];
}
