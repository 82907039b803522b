/**
 * The settings that gateway and indexer share. docs/operations/settings.md takes its text for a variable from `describe` in the schema.
 */
import { z } from "zod";
import { isNodeUrl, NODE_URL_HELP } from "./node-url.ts";

export const port = z.coerce.number().int().min(0).max(65_535);
/** Also of seconds on the chain, which counts in whole ones. */
export const count = (fallback: number) => z.coerce.number().int().positive().default(fallback);
/** Libraries read a '%' that starts no escape in different ways. The log could then not tell which password it has to hide. */
export const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, "must begin with postgres://")
  .refine(
    isDecodable,
    "a '%' in it (of the password?) starts no escape: write each '%' as %25, '@' as %40, '/' as %2F",
  );
/** Which of the protocols a node's URL may have. */
export const nodeUrl = (protocol: RegExp) => z.url({ protocol }).refine(isNodeUrl, NODE_URL_HELP);
/** Texts that are separated by commas. */
export const list = z
  .string()
  .default("")
  .transform((text) => text.split(",").filter((one) => one !== ""));
/** More nodes of the chain than one. */
export const nodeUrls = list
  .refine(
    (all) => all.every((one) => nodeUrl(/^https?$/).safeParse(one).success),
    `must be http(s) URLs, comma separated: ${NODE_URL_HELP}`,
  )
  .describe("more nodes of the chain, comma separated: asked while the first is silent or behind. Secret");

/**
 * Reads a program's settings from the environment; an empty variable is none. Throws one message that names every wrong variable, and never
 * prints a value.
 */
export function readSettings<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv, program: string): z.infer<S> {
  const result = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== "")));
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new Error(
    `The ${program}'s environment is not usable:\n${lines.join("\n")}\nSee docs/operations/settings.md for every setting.`,
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
