/** `worker/` as a stranger gets it: joins a service from an empty folder, and answers a job there. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PARTS } from "../../scripts/dev/stack.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { Part } from "../support/processes.ts";
import { plainEnv } from "../support/shared.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { freePort } from "../worker/support/processes.ts";
import { type Installed, install } from "./support/install.ts";

const MODEL = "qwen3-8b";

let worker: Installed;
let stack: TestStack;
let api: ApiClient;
const parts: Part[] = [];
beforeAll(async () => {
  [worker, stack] = await Promise.all([
    install("worker"),
    startTestStack({ parts: PARTS.filter((part) => part !== "indexer"), workers: [] }),
  ]);
  api = apiClient(stack);
});
afterAll(async () => {
  for (const part of parts) await part.stop("SIGKILL");
  await stack?.remove();
});

describe("the package worker, installed in an empty folder", () => {
  it("has a command, and nothing of the repository", async () => {
    const { code, stdout } = await worker.command("--help");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: cmi-worker \[command\] \[options\]/);
    expect(readdirSync(worker.at).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  });

  it("brings the Node that it needs, for machines that have Node 20", async () => {
    expect(await worker.commandUnderNode20("--help")).toEqual(await worker.command("--help"));
    const settled = await worker.commandUnderNode20("status", "--service", "http://192.0.2.1");
    expect(settled).toMatchObject({ code: 1, stderr: expect.stringContaining("must be https") });
  });

  it("does not take contracts from a service that anybody on the way could play", async () => {
    const { code, stderr } = await worker.command("--models", MODEL, "--service", "http://192.0.2.1");
    expect(code).toBe(1);
    expect(stderr).toContain("must be https: the contracts that get your stake come from it");
  });

  /** Without settings of the stack that may run beside the tests: CI names ports. */
  const ENV = Object.fromEntries(
    Object.entries({ ...plainEnv(), WORKER_PASSPHRASE: "a passphrase of the test" }).filter(
      ([name]) => !/^(WORKER_PORT|DATA_DIR)$/.test(name),
    ),
  );

  it("joins a service, answers a job and settles it", async () => {
    const port = String(await freePort());
    const args = ["--backend", "builtin", "--models", MODEL, "--service", stack.info.base_url, "--port", port, "--yes"];
    const options = { cwd: worker.folder, env: ENV };
    const part = new Part("the worker", join(worker.folder, "node_modules", ".bin", "cmi-worker"), args, options);
    parts.push(part);
    await part.until(async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok);
    expect(part.output).toContain(`registry ${stack.info.contracts["WorkerRegistry"]}`);

    const reply = await eventually(
      () => api.post("/v1/chat/completions", chat(MODEL, "Say hello.")),
      ({ status }) => status === 200,
    );
    const { worker: address } = (await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()) as { worker: string };
    expect(reply.headers.get("x-service-worker")?.toLowerCase()).toBe(address.toLowerCase());
    const jobId = reply.headers.get("x-service-job-id");
    await eventually(
      () => api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "settled",
    );

    // The next start needs no flags, and goes on with the contracts that were agreed to.
    await part.stop("SIGTERM");
    const again = new Part("the worker", join(worker.folder, "node_modules", ".bin", "cmi-worker"), [], options);
    parts.push(again);
    await again.until(async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok);
    expect(again.output).not.toContain("Kept the contracts");
  });
});
