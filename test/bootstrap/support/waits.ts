/** A program that says which signals ask it to stop. It ends with exit code 7 after the first, or after as many as its argument says. */
import { onStopSignal, stopWithNpm } from "../../../shared/signals.ts";

let left = Number(process.argv[2] ?? 1);
stopWithNpm();
onStopSignal((signal) => {
  console.log(`got ${signal}`);
  left--;
  // A while later, as a program that stops in order: what is sent to it until then must find it alive.
  if (left === 0) setTimeout(() => process.exit(7), 200);
});
console.log(`waiting as ${process.pid} on ${process.version}`);
setTimeout(() => process.exit(1), 100_000);
