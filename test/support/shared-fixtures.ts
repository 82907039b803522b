/**
 * What files of several suites share: stacks, and a browser. Each is started once in a run, by the first file that asks for it. After the
 * project's last file the run's reporter stops them all (DELETE): they would take processor time and memory from the others.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import type { KnownStack } from "./api-client.ts";
import { type Stack, startTestStack, type TestStackOptions } from "./stack.ts";

/** What a test file knows of a shared stack: plain data, and no way to kill or reconfigure a part. */
export type SharedStack = KnownStack & Pick<Stack, "deploymentFile" | "workers"> & { dataDir: string };

type Name = "service" | "hostile" | "web" | "browser";

/** What the files may know, as JSON, and what ends it. */
type Started = { known: unknown; stop: () => Promise<void> };

declare module "vitest" {
  interface ProvidedContext {
    /** Base URL that starts and describes what is shared, by name. */
    shared: string;
  }
}

/** Starts such a stack, for `share`. */
export const stackOf = (given: TestStackOptions) => async (): Promise<Started> => {
  const { info, options, deploymentFile, workers, remove } = await startTestStack(given);
  const known: SharedStack = { info, dataDir: options.dataDir, deploymentFile, workers };
  return { known, stop: remove };
};

/** What Vitest calls before a project's files: nothing is started yet. */
export function share(starts: Record<Name, () => Promise<Started>>) {
  return async ({ provide }: TestProject): Promise<() => Promise<void>> => {
    const started = new Map<Name, Promise<Started>>();
    const start = (name: Name): Promise<Started> => {
      const running = started.get(name) ?? starts[name]();
      started.set(name, running);
      return running;
    };
    let stopped: Promise<unknown> | undefined;
    const stop = () => {
      stopped ??= Promise.allSettled([...started.values()].map(async (one) => (await one).stop()));
      return stopped;
    };
    const server = createServer(async (request, response) => {
      try {
        const name = request.url?.slice(1) as Name;
        const answer = request.method === "DELETE" ? await stop() : (await start(name)).known;
        response.end(JSON.stringify(answer));
      } catch (error) {
        response.writeHead(500).end(error instanceof Error ? error.message : String(error));
      }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    provide("shared", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return async () => {
      server.closeAllConnections();
      server.close();
      await stop();
    };
  };
}

/** The shared stack of this name, running. */
export const sharedStack = (name: Exclude<Name, "browser">): Promise<SharedStack> => shared(name);

/** The WebSocket address of the shared browser, running. */
export const sharedBrowser = (): Promise<string> => shared("browser");

async function shared<Known>(name: Name): Promise<Known> {
  const response = await fetch(`${inject("shared")}/${name}`);
  if (!response.ok) throw new Error(`the shared ${name} did not start: ${await response.text()}`);
  return (await response.json()) as Known;
}
