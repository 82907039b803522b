import { z } from "zod";
import type { StackContext } from "./context.ts";
import { StackError } from "./errors.ts";
import { readText } from "./files.ts";
import { logFile } from "./logs.ts";
import { apiEnv, taskSpec } from "./programs.ts";
import { keepDemoKey } from "./secrets.ts";

const account = z.object({ wallet: z.string(), private_key: z.string(), api_key: z.string() });
export type DemoAccount = z.infer<typeof account>;

/** Makes sure that there is a funded account with a key to try things out with. */
export async function ensureDemo(context: StackContext): Promise<DemoAccount> {
  const { secrets, options, supervisor, dataDir } = context;
  const env = Object.fromEntries(
    Object.entries(apiEnv(context)).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  await supervisor.run(
    taskSpec(context, "demo", "scripts/demo-account.ts", {
      ...env,
      DEMO_PRIVATE_KEY: secrets.demoPrivateKey,
      ...(secrets.demoApiKey ? { DEMO_API_KEY: secrets.demoApiKey } : {}),
      ...options.env.demo,
    }),
  );
  const found = lastJsonLine(readText(logFile(dataDir, "demo")) ?? "");
  const result = account.safeParse(found);
  if (!result.success)
    throw new StackError(
      `scripts/demo-account.ts did not end with the account as JSON; see ${logFile(dataDir, "demo")}.`,
    );
  keepDemoKey(dataDir, result.data.api_key);
  return result.data;
}

function lastJsonLine(text: string): unknown {
  const line = text
    .trim()
    .split("\n")
    .findLast((candidate) => candidate.startsWith("{"));
  try {
    return JSON.parse(line ?? "null");
  } catch {
    // Not JSON: the caller says what was expected.
    return null;
  }
}
