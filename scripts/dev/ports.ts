import { once } from "node:events";
import { connect, createServer } from "node:net";
import { codeOf } from "../../shared/process.ts";
import { StackError } from "./files.ts";

const PORTS = {
  api: ["API_PORT", 4000, "the API"],
  chain: ["CHAIN_PORT", 8545, "the chain"],
  indexer: ["INDEXER_PORT", 4269, "the indexer"],
  worker: ["WORKER_PORT", 9101, "the first worker (others follow)"],
  postgres: ["POSTGRES_PORT", 5429, "PostgreSQL"],
} as const;
export type Ports = Record<keyof typeof PORTS, number>;

/** The ports that the environment names, or the usual ones. */
export function portsFromEnv(env: NodeJS.ProcessEnv): Ports {
  const ports = Object.entries(PORTS).map(([kind, [variable, fallback]]) => {
    const port = Number(env[variable] || fallback);
    if (Number.isInteger(port) && port > 0 && port <= 65_535) return [kind, port];
    throw new StackError(`${variable}=${env[variable]} is not a port: use a number from 1 to 65535.`);
  });
  return Object.fromEntries(ports) as Ports;
}

/** Fails with a message that names the port and the variable when a port is taken. */
export async function demandFree(kind: keyof Ports, port: number): Promise<void> {
  if (await isFree(port)) return;
  const [variable, , what] = PORTS[kind];
  throw new StackError(
    `Port ${port}, wanted for ${what}, is in use.\n` +
      `What to do: stop the program that has it, or choose another port, for example ${variable}=${port + 1} npm start`,
  );
}

/**
 * Asked both ways: macOS lets a second socket listen on 127.0.0.1 beside one that listens on all addresses. Silence says nothing: a process that
 * is busy for a second hears its timer before the refusal.
 */
async function isFree(port: number): Promise<boolean> {
  const address = { port, host: "127.0.0.1" };
  const socket = connect({ ...address, timeout: 1_000 });
  const isAnswered = await Promise.race([
    once(socket, "connect").then(
      () => true,
      () => false,
    ),
    once(socket, "timeout").then(
      () => false,
      () => false,
    ),
  ]);
  socket.destroy();
  if (isAnswered) return false;
  const server = createServer().listen(address);
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    if (codeOf(error) === "EADDRINUSE") return false;
    if (codeOf(error) !== "EACCES") throw error;
    throw new StackError(`This user may not listen on port ${port}: choose one above 1023.`);
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}

/**
 * Ports that are free now, for stacks of tests. They lie below the range from which systems take ports for outgoing connections: one of
 * those could be gone again before the part listens.
 */
export async function freePorts(workers: number): Promise<Ports> {
  const api = await freeRow(4 + Math.max(1, workers));
  return { api, chain: api + 1, indexer: api + 2, postgres: api + 3, worker: api + 4 };
}

/** One such port. */
export const freePort = (): Promise<number> => freeRow(1);

/** The first of `length` consecutive ports that are all free. */
async function freeRow(length: number): Promise<number> {
  for (;;) {
    const first = 15_000 + Math.floor(Math.random() * 15_000);
    const free = await Promise.all(Array.from({ length }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
}
