import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts } from "../local-stack/ports.ts";

/** A program of the benchmark that is not part of the system: where it listens, its process id, and its end. */
export type Peer = { url: string; pid: number; stop: () => void };

/** The model server that answers at once. */
export async function startUpstream(): Promise<Peer> {
  const file = fileURLToPath(new URL("upstream.ts", import.meta.url));
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the upstream ended with code ${code}`)));
    child.stdout?.once("data", (line: Buffer) => resolve(Number(line.toString())));
  });
  return peer(child, `http://127.0.0.1:${port}`);
}

/** Portkey's gateway, the peer we compare with: it forwards, nothing more. Null where it is not installed. */
export async function startPortkey(): Promise<Peer | null> {
  let home: string;
  try {
    home = dirname(createRequire(import.meta.url).resolve("@portkey-ai/gateway/package.json"));
  } catch (error) {
    console.error(`The peer gateway is not installed, its columns stay empty: ${(error as Error).message}`);
    return null;
  }
  const { api: port } = await freePorts(0);
  const child = spawn(process.execPath, [join(home, "build/start-server.js"), `--port=${port}`, "--headless"], {
    stdio: "ignore",
    // Without it, it asks whether each request may reach its custom host.
    env: { ...process.env, NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost" },
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    const answered = await fetch(url).catch(() => null);
    if (answered) return peer(child, url);
    await sleep(100);
  }
  child.kill();
  throw new Error("The peer gateway did not answer within 10 s.");
}

function peer(child: ChildProcess, url: string): Peer {
  return { url, pid: child.pid as number, stop: () => void child.kill() };
}
