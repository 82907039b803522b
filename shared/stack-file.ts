/** `$DATA_DIR/stack.json`: what a local stack (`npm start`) tells the programs beside it. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";

/** The whole file, as a stack writes it. `demo`: a funded account to try things out with. */
export type StackFile = {
  base_url: string;
  app_url: string;
  rpc_url: string;
  chain_id: number;
  database_url: string;
  deployment_file: string;
  contracts: Record<string, string>;
  /** The first port that no worker of the stack has. */
  worker_port: number;
  demo: { wallet: string; private_key: `0x${string}`; api_key: string } | null;
};

/** The fields that other programs take from the file. */
const schema = z
  .object({
    rpc_url: z.string(),
    chain_id: z.number(),
    database_url: z.string(),
    deployment_file: z.string(),
    contracts: z.object({ InferenceEscrow: z.string() }).partial(),
    worker_port: z.number(),
  })
  .partial();

/** The file is damaged: shown as its message alone. */
export class StackFileError extends Error {
  override name = "StackFileError";
}

/** The project's folder; that of the process where this is packed. */
const BASE = import.meta.filename.endsWith(".ts") ? resolve(import.meta.dirname, "..") : process.cwd();

/** The data folder of a local stack: DATA_DIR. */
export const dataDirOf = (env: NodeJS.ProcessEnv): string => resolve(BASE, env["DATA_DIR"] || ".data");

/** Path of the stack file that DATA_DIR names, and what is in it; `stack` is null without one. Throws a StackFileError. */
export function readStackFile(env: NodeJS.ProcessEnv): { file: string; stack: z.infer<typeof schema> | null } {
  const file = resolve(dataDirOf(env), "stack.json");
  if (!existsSync(file)) return { file, stack: null };
  try {
    return { file, stack: schema.parse(JSON.parse(readFileSync(file, "utf8"))) };
  } catch (error) {
    const reason =
      error instanceof z.ZodError ? z.prettifyError(error) : error instanceof SyntaxError ? "no JSON" : error;
    throw new StackFileError(`${file} is not a stack file: ${reason}`);
  }
}
