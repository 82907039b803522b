import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../local-stack/errors.ts";
import { ROOT } from "../../local-stack/files.ts";
import { signal } from "../../local-stack/identity.ts";

export type Outcome = { code: number | null; overTime: boolean; output: string };

/** Time to read what an ended program had written. */
const LAST_WORDS_MS = 2_000;

/** The process groups that run now, for the person who presses Ctrl-C. */
const running = new Set<number>();

/**
 * Runs a Node program in a process group of its own, shows and keeps its output, and kills the group when time is up.
 * @param label Stands before each line that is shown, when programs run side by side.
 */
export async function runProgram(
  args: string[],
  env: NodeJS.ProcessEnv,
  milliseconds: number,
  label = "",
): Promise<Outcome> {
  const child = spawn(process.execPath, args, { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const group = child.pid;
  if (group === undefined) return { code: 1, overTime: false, output: "" };
  running.add(group);

  let output = "";
  const keep = (text: string): void => {
    output += text;
  };
  show(child.stdout, process.stdout, label, keep);
  show(child.stderr, process.stderr, label, keep);

  let overTime = false;
  const timer = setTimeout(() => {
    overTime = true;
    signal(-group, "SIGKILL");
  }, milliseconds);
  const read = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      console.error(`${args[0]} could not be started: ${messageOf(error)}`);
      resolve(1);
    });
    child.once("exit", (exit) => resolve(exit));
  });
  clearTimeout(timer);
  // Whatever it left in its group has no business going on.
  signal(-group, "SIGKILL");
  // What left the group may hold the pipes open for ever.
  await Promise.race([read, sleep(LAST_WORDS_MS)]);
  running.delete(group);
  return { code, overTime, output };
}

export function killRunning(): void {
  for (const group of running) signal(-group, "SIGKILL");
}

/** Passes output on in whole lines, so that two programs never write into one. */
function show(from: Readable, to: NodeJS.WriteStream, label: string, keep: (text: string) => void): void {
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (text: string) => {
    keep(text);
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) to.write(`${label}${line}\n`);
  });
  from.on("end", () => {
    if (rest) to.write(`${label}${rest}\n`);
  });
}
