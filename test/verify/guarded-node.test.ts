/** Commands whose node is behind a user, a password and a key: they ask it with them, and print none of them when it fails. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deploymentSchema } from "../../protocol/deployment.ts";
import { type GuardedNode, startGuardedNode } from "../support/guarded-node.ts";
import { run } from "./support/cli.ts";

const ADDRESS = `0x${"11".repeat(20)}`;
const JOB = `job_${"0".repeat(32)}`;

let folder: string;
let env: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "guarded-"));
  const names = Object.keys(deploymentSchema.shape.contracts.shape);
  const contracts = Object.fromEntries(names.map((name) => [name, ADDRESS]));
  const deployment = { chainId: 31_337, startBlock: 0, startBlockHash: `0x${"22".repeat(32)}`, contracts };
  const DEPLOYMENT_FILE = join(folder, "deployment.json");
  writeFileSync(DEPLOYMENT_FILE, JSON.stringify(deployment));
  env = { DEPLOYMENT_FILE, DEMO_PRIVATE_KEY: `0x${"33".repeat(32)}`, DATABASE_URL: "postgres://localhost/x" };
});
afterAll(() => rmSync(folder, { recursive: true }));

const COMMANDS: [name: string, script: string, args: (url: string) => string[], said: RegExp][] = [
  ["deploy", "scripts/deploy.ts", () => [], /no node answers at RPC_URL \(127\.0\.0\.1:\d+\)/],
  ["operator", "operator/main.ts", () => ["models", "list"], /no node answers at 127\.0\.0\.1:\d+/],
  [
    "verify-job",
    "verify/main.ts",
    (url) => [JOB, "--rpc", url, "--escrow", ADDRESS],
    /no node answers at 127\.0\.0\.1:\d+/,
  ],
];

describe.each(COMMANDS)("%s", (_name, script, args, said) => {
  it("asks the node with the password, and does not print it when it is turned away", async () => {
    // One answer that means nothing: from then on it turns everybody away.
    const node: GuardedNode = await startGuardedNode(async () => {
      node.refuse();
      return "no JSON";
    });
    try {
      const { code, output } = await run(script, args(node.url), { ...env, RPC_URL: node.url });
      expect(node.served).toBeGreaterThan(0);
      expect(code).not.toBe(0);
      expect(output).toMatch(said);
      for (const secret of node.secrets) expect(output).not.toContain(secret);
    } finally {
      await node.stop();
    }
  });

  it("refuses a password that cannot be read, by its setting", async () => {
    const url = "http://user:100%secret@127.0.0.1:1/";
    const { code, output } = await run(script, args(url), { ...env, RPC_URL: url });
    expect(code).not.toBe(0);
    expect(output).toMatch(/RPC_URL|--rpc/);
    expect(output).toMatch(/a '%' in its user or password .* as %25/);
    expect(output).not.toContain("secret");
  });
});
