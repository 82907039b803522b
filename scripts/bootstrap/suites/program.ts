import { spawn } from "node:child_process";
import { messageOf } from "../../local-stack/errors.ts";
import { ROOT } from "../../local-stack/files.ts";
import { signal } from "../../local-stack/identity.ts";

export type Outcome = { code: number | null; overTime: boolean; output: string };

/** The process group that runs now, for the person who presses Ctrl-C. */
let running: number | null = null;

/** Runs a Node program in a process group of its own, shows and keeps its output, and kills the group when time is up. */
export async function runProgram(args: string[], env: NodeJS.ProcessEnv, milliseconds: number): Promise<Outcome> {
  const child = spawn(process.execPath, args, { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const group = child.pid;
  if (group === undefined) return { code: 1, overTime: false, output: "" };
  running = group;

  let output = "";
  const show = (stream: NodeJS.WriteStream) => (chunk: Buffer) => {
    output += chunk.toString("utf8");
    stream.write(chunk);
  };
  child.stdout.on("data", show(process.stdout));
  child.stderr.on("data", show(process.stderr));

  let overTime = false;
  const timer = setTimeout(() => {
    overTime = true;
    signal(-group, "SIGKILL");
  }, milliseconds);
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
  running = null;
  return { code, overTime, output };
}

export function killRunning(): void {
  if (running !== null) signal(-running, "SIGKILL");
}
