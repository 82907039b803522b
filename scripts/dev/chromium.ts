/** The Chromium that tests and benchmarks start: the machine's own, or the one that comes as a package. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { LaunchOptions } from "playwright-core";
import { ROOT } from "./files.ts";

const DEBIANS = "/usr/bin/chromium";
const CACHE = join(ROOT, "node_modules", ".cache");

/** Containers run as root and have a small /dev/shm. */
const ARGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];

/**
 * Options with which `playwright-core` starts a Chromium: the file that CHROMIUM names, or Debian's. Without these it is the package
 * `@sparticuz/chromium` on Linux x64. Elsewhere Playwright looks for Chrome, and its error says where.
 */
export async function chromiumOptions(): Promise<LaunchOptions> {
  const own = process.env["CHROMIUM"] ?? (existsSync(DEBIANS) ? DEBIANS : undefined);
  if (own !== undefined) return { executablePath: own, args: ARGS };
  if (process.platform !== "linux" || process.arch !== "x64") return { channel: "chrome", args: ARGS };
  const folder = await unpacked();
  const env = { ...(process.env as Record<string, string>), FONTCONFIG_FILE: join(folder, "fonts.conf") };
  return { executablePath: join(folder, "chromium"), args: ARGS, env };
}

/** Unpacks the package once (14 s). Another process may do so at the same time: a folder appears whole or not at all. */
async function unpacked(): Promise<string> {
  const manifest = readFileSync(join(ROOT, "node_modules/@sparticuz/chromium/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const folder = join(CACHE, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const temporary = mkdtempSync(`${folder}-`);
  // It unpacks into the folder for temporary files, which a process of its own may choose.
  const script = 'import chromium from "@sparticuz/chromium"; await chromium.executablePath();';
  const env = { ...process.env, TMPDIR: temporary };
  // A machine without fonts would draw every text with a width of 0.
  const fonts = `<include ignore_missing="yes">/etc/fonts/fonts.conf</include><dir>${folder}/fonts/fonts</dir>`;
  try {
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { cwd: ROOT, env });
    writeFileSync(join(temporary, "fonts.conf"), `<fontconfig>${fonts}</fontconfig>\n`);
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
