import type { z } from "zod";
import { ApiError, type ErrorCode } from "../errors.ts";

/** `["messages", 2, "role"]` → `messages[2].role`. */
function paramName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, "");
}

/** Parses `value` or throws an `invalid_request` that names the first offending field. */
export function validate<T extends z.ZodType>(
  schema: T,
  value: unknown,
  code: ErrorCode = "invalid_request",
): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = deepest(result.error.issues[0] as z.core.$ZodIssue);
  const param = paramName(issue.path);
  throw new ApiError(code, param === "" ? issue.message : `${param}: ${issue.message}`, param === "" ? {} : { param });
}

/** In a union the branch that came furthest tells more than "no branch matched". */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const inner = issue.errors.flat().toSorted((a, b) => b.path.length - a.path.length)[0];
  if (inner === undefined || inner.path.length === 0) return issue;
  return { ...deepest(inner), path: [...issue.path, ...inner.path] };
}
