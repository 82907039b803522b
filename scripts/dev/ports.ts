import { connect, createServer } from "node:net";
import { codeOf, StackError } from "./files.ts";

export type Ports = { api: number; chain: number; indexer: number; worker: number; postgres: number };

const VARIABLES: Record<keyof Ports, { variable: string; fallback: number; what: string }> = {
  api: { variable: "API_PORT", fallback: 4000, what: "the API" },
  chain: { variable: "CHAIN_PORT", fallback: 8545, what: "the chain" },
  indexer: { variable: "INDEXER_PORT", fallback: 42_069, what: "the indexer" },
  worker: { variable: "WORKER_PORT", fallback: 9101, what: "the first worker (others follow)" },
  postgres: { variable: "POSTGRES_PORT", fallback: 54_329, what: "PostgreSQL" },
};

/** The ports that the environment names, or the usual ones. */
export function portsFromEnv(env: NodeJS.ProcessEnv): Ports {
  const port = (kind: keyof Ports): number => {
    const { variable, fallback } = VARIABLES[kind];
    const number = Number(env[variable] || fallback);
    if (Number.isInteger(number) && number > 0 && number <= 65_535) return number;
    throw new StackError(`${variable}=${env[variable]} is not a port: use a number from 1 to 65535.`);
  };
  return {
    api: port("api"),
    chain: port("chain"),
    indexer: port("indexer"),
    worker: port("worker"),
    postgres: port("postgres"),
  };
}

/** Fails with a message that names the port and the variable when a port is taken. */
export async function demandFree(kind: keyof Ports, port: number): Promise<void> {
  if (await isFree(port)) return;
  const { variable, what } = VARIABLES[kind];
  throw new StackError(
    `Port ${port}, wanted for ${what}, is in use.\n` +
      `What to do: stop the program that has it, or choose another port, for example ${variable}=${port + 1} npm start`,
  );
}

/** Asked both ways: macOS lets a second socket listen on 127.0.0.1 beside one that listens on all addresses. */
async function isFree(port: number): Promise<boolean> {
  return !(await answers(port)) && (await canListen(port));
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: 1_000 });
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once("connect", () => done(true));
    socket.once("timeout", () => done(true));
    socket.once("error", () => done(false));
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => {
      if (codeOf(error) === "EADDRINUSE") resolve(false);
      else if (codeOf(error) === "EACCES")
        reject(new StackError(`This user may not listen on port ${port}: choose one above 1023.`));
      else reject(error);
    });
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
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
