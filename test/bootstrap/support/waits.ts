/** A program that says which signals it gets, and ends 200 ms after the first with exit code 7. */
let first = true;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    console.log(`got ${signal}`);
    if (first) setTimeout(() => process.exit(7), 200);
    first = false;
  });
}
console.log(`waiting as ${process.pid} on ${process.version}`);
setTimeout(() => process.exit(1), 20_000);
