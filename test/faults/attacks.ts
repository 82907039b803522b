/**
 * One attacker, as a process of its own (`attackers.ts` starts it): repeats one attack at its rate until its standard input ends, then says how
 * often each answer came.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Attack, Target } from "./attacks/attack.ts";
import { ON_GATEWAY } from "./attacks/gateway.ts";
import { ON_WEB } from "./attacks/web.ts";
import { ON_WORKERS } from "./attacks/workers.ts";

export const ATTACKS: Record<string, Attack> = { ...ON_GATEWAY, ...ON_WEB, ...ON_WORKERS };

/** How an attacker says that its attack begins. */
export const BEGINS = "begins\n";

async function attack({ most, perSecond, prepare, shot }: Attack, target: Target, stopped: AbortSignal): Promise<void> {
  await prepare?.(target);
  process.stdout.write(BEGINS);
  const answers: Record<string, number> = {};
  let [running, n] = [0, 0];
  const one = async (number: number) => {
    const said = await shot(target, number).catch((error) => String(error.code ?? error.message));
    answers[said] = (answers[said] ?? 0) + 1;
    running -= 1;
  };
  const begun = performance.now();
  while (!stopped.aborted) {
    const due = ((performance.now() - begun) / 1000) * perSecond;
    for (; n < due && running < most; n++, running++) void one(n);
    if (running >= most) n = Math.max(n, Math.floor(due));
    await sleep(Math.max(5, 1000 / perSecond));
  }
  if (running > 0) answers["open at the end"] = running;
  process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit(0));
}

if (import.meta.main) {
  const [name, target] = process.argv.slice(2) as [string, string];
  const stopped = new AbortController();
  process.stdin.on("end", () => stopped.abort()).resume();
  await attack(ATTACKS[name] as Attack, JSON.parse(target), stopped.signal);
}
