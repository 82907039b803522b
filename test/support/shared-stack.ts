/**
 * Stacks that the files of one suite share. Each is started once in a run, by the first file that asks for it. After the suite's last file
 * the run's reporter stops them all (DELETE): they would take processor time and memory from the other suites.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import type { KnownStack } from "./api-client.ts";
import { type Stack, startTestStack, type TestStack, type TestStackOptions } from "./stack.ts";

/** What a test file knows of a shared stack: plain data, and no way to kill or reconfigure a part. */
export type SharedStack = KnownStack & Pick<Stack, "deploymentFile" | "workers"> & { dataDir: string };

declare module "vitest" {
  interface ProvidedContext {
    /** Base URL that starts and describes the suite's shared stacks, by name. */
    sharedStacks: string;
  }
}

/** The `default` export of a suite's `global-setup.ts`: its stacks by name. */
export function shareStacks(stacks: Record<string, TestStackOptions>) {
  return async ({ provide }: TestProject): Promise<() => Promise<void>> => {
    const started = new Map<string, Promise<TestStack>>();
    const start = (name: string): Promise<TestStack> => {
      const stack = started.get(name) ?? startTestStack(stacks[name]);
      started.set(name, stack);
      return stack;
    };
    let stopped: Promise<unknown> | undefined;
    const stop = () => {
      stopped ??= Promise.allSettled([...started.values()].map(async (stack) => (await stack).remove()));
      return stopped;
    };
    const server = createServer(async (request, response) => {
      try {
        if (request.method === "DELETE") return void response.end(JSON.stringify(await stop()));
        const { info, options, deploymentFile, workers } = await start((request.url ?? "").slice(1));
        const shared: SharedStack = { info, dataDir: options.dataDir, deploymentFile, workers };
        response.end(JSON.stringify(shared));
      } catch (error) {
        response.writeHead(500).end(error instanceof Error ? error.message : String(error));
      }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    provide("sharedStacks", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return async () => {
      server.closeAllConnections();
      server.close();
      await stop();
    };
  };
}

/** The shared stack of this name, running. */
export async function sharedStack(name: string): Promise<SharedStack> {
  const response = await fetch(`${inject("sharedStacks")}/${name}`);
  if (!response.ok) throw new Error(`the shared stack "${name}" did not start: ${await response.text()}`);
  return (await response.json()) as SharedStack;
}
