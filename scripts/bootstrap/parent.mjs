/**
 * Calls `gone` once when the process that started us has died. Under npm that is npm itself (its scripts say `exec`, so
 * that no shell stands between): `npm start` killed with -9 must not leave the stack running for nobody.
 */
export function watchParent(gone) {
  const first = process.ppid;
  // A container's first process is parent and init at once: nothing to watch.
  if (first <= 1) return () => {};
  const timer = setInterval(() => {
    if (process.ppid === first) return;
    clearInterval(timer);
    gone();
  }, 500);
  timer.unref();
  return () => clearInterval(timer);
}
