/** A struct that a contract returned, by field name. */
export function fieldsOf(struct: unknown): Record<string, bigint> {
  return (struct as { toObject(): Record<string, bigint> }).toObject();
}
