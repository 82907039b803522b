/** Settings that would be dangerous where money is real, or that nobody could correct from the message. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { endpointPolicy, readConfig } from "../../../api/config.ts";
import { deploymentSchema } from "../../../protocol/deployment.ts";
import { publicConfig } from "../../../web/server/public.ts";

const folder = mkdtempSync(join(tmpdir(), "config-"));
afterAll(() => rmSync(folder, { recursive: true }));

function environment(chainId: number, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const names = Object.keys(deploymentSchema.shape.contracts.shape);
  const contracts = Object.fromEntries(names.map((name) => [name, `0x${"11".repeat(20)}`]));
  const file = join(folder, `${chainId}.json`);
  writeFileSync(file, JSON.stringify({ chainId, startBlock: 0, startBlockHash: `0x${"22".repeat(32)}`, contracts }));
  return {
    DATABASE_URL: "postgres://localhost/x",
    RPC_URL: "https://node.example.com",
    DEPLOYMENT_FILE: file,
    GATEWAY_PRIVATE_KEY: `0x${"33".repeat(32)}`,
    MASTER_KEY: "44".repeat(32),
    ...more,
  };
}

describe("the gateway's settings", () => {
  it("refuses local endpoints on every chain but the development chain", () => {
    const local = { ALLOW_LOCAL_ENDPOINTS: "true" };
    expect(readConfig(environment(31_337, local)).ALLOW_LOCAL_ENDPOINTS).toBe(true);
    expect(() => readConfig(environment(1, local))).toThrow(/ALLOW_LOCAL_ENDPOINTS is for development: on chain 1 /);
    expect(readConfig(environment(1)).ALLOW_LOCAL_ENDPOINTS).toBe(false);
  });

  it("refuses a demo account's key on every chain but the development chain", () => {
    const demo = { DEMO_FILE: "stack.json" };
    expect(readConfig(environment(31_337, demo)).DEMO_FILE).toBe("stack.json");
    expect(() => readConfig(environment(1, demo))).toThrow(/DEMO_FILE is for development: on chain 1 /);
  });

  it("takes private networks for endpoints, and says which one is none", () => {
    const read = (list: string) => readConfig(environment(1, { ALLOW_ENDPOINT_NETWORKS: list }));
    const { allowLocal, allowNetworks } = endpointPolicy(read("10.1.0.0/16,fd12:3456::/48"));
    expect([allowLocal, allowNetworks?.map((network) => network.join("/"))]).toEqual([
      false,
      ["10.1.0.0/16", "fd12:3456::/48"],
    ]);
    expect(() => read("10.1.0.0/16,169.254.0.0/16")).toThrow(
      /ALLOW_ENDPOINT_NETWORKS: entry 2 is not inside 10\.0\.0\.0/,
    );
    expect(endpointPolicy(readConfig(environment(1))).allowNetworks).toEqual([]);
  });

  it("refuses a password of the node that cannot be read", () => {
    const read = () => readConfig(environment(1, { RPC_URL: "https://user:100%secret@node.example.com" }));
    expect(read).toThrow(/RPC_URL: a '%' .*%25/);
    expect(read).not.toThrow("secret");
  });

  it("names every wrong variable and prints no value", () => {
    const wrong = {
      GATEWAY_PRIVATE_KEY: "0xdeadbeef",
      MASTER_KEY: "hunter2",
      OTHER_MASTER_KEYS: "abba",
      METRICS_TOKEN: "short-token",
    };
    const read = () => readConfig(environment(1, wrong));
    for (const name of Object.keys(wrong)) expect(read).toThrow(name);
    for (const value of Object.values(wrong)) expect(read).not.toThrow(value);
    expect(read).toThrow("docs/operations/settings.md");
  });

  it("says what to do about a bare % in a database URL's password", () => {
    const read = (password: string) =>
      readConfig(environment(1, { DATABASE_URL: `postgres://gateway:${password}@db.example.com/x` }));
    for (const wrong of ["50%", "half%off", "%zz"]) {
      expect(() => read(wrong)).toThrow(/DATABASE_URL: .*%25/);
      expect(() => read(wrong)).not.toThrow("db.example.com");
    }
    expect(read("50%25").DATABASE_URL).toContain("50%25");
  });

  it.each(["OUTPUT_RETENTION_HOURS", "ACKNOWLEDGE_SECONDS", "LOCK_SECONDS"])("refuses half a unit of %s", (name) => {
    expect(() => readConfig(environment(1, { [name]: "0.5" }))).toThrow(name);
    expect(readConfig(environment(1, { [name]: "7" }))).toMatchObject({ [name]: 7 });
  });

  it("refuses fees and gas that can mine nothing, and other databases", () => {
    const wrong = { FEE_CAP_WEI: "1.5", PRIORITY_FEE_WEI: "-1", BATCH_GAS: "0", DATABASE_URL: "mysql://localhost/x" };
    expect(() => readConfig(environment(1, wrong))).toThrow(
      /DATABASE_URL: must begin with postgres[\s\S]*BATCH_GAS: must be at least 1100000[\s\S]*FEE_CAP_WEI: must be a whole number[\s\S]*PRIORITY_FEE_WEI: must be a whole/,
    );
    const above = { FEE_CAP_WEI: "9", PRIORITY_FEE_WEI: "10" };
    expect(() => readConfig(environment(1, above))).toThrow(/PRIORITY_FEE_WEI is above FEE_CAP_WEI/);
    expect(readConfig(environment(1, { FEE_CAP_WEI: "10", PRIORITY_FEE_WEI: "10" })).FEE_CAP_WEI).toBe(10n);
  });

  it("takes any number of other master keys", () => {
    expect(readConfig(environment(1)).OTHER_MASTER_KEYS).toEqual([]);
    const [a, b] = ["55".repeat(32), "66".repeat(32)];
    expect(readConfig(environment(1, { OTHER_MASTER_KEYS: `${a},${b}` })).OTHER_MASTER_KEYS).toEqual([a, b]);
  });
});

describe("what the web application is told", () => {
  const told = (chainId: number, more: Record<string, string> = {}) =>
    publicConfig(readConfig(environment(chainId, more)), 1, { dispute: 60, inclusion: 30 });

  it("shows the node's address on the development chain only", () => {
    expect(told(31_337).rpc_url).toBe("https://node.example.com");
    expect(told(1).rpc_url).toBeNull();
    expect(told(1, { PUBLIC_RPC_URL: "https://public.example.com" }).rpc_url).toBe("https://public.example.com");
    expect(JSON.stringify(told(1))).not.toContain("node.example.com");
  });

  it.each([
    ["a user and a password", "https://operator:hunter2@node.example.com"],
    ["a short password", "http://:pw@127.0.0.1:8545"],
    ["a key in its path", "https://node.example.com/v3/0f1e2d3c4b5a6978"],
    ["a key in its query", "https://node.example.com/?key=abc"],
  ])("has no address of a node with %s, not on the development chain either", (_what, RPC_URL) => {
    expect(told(31_337, { RPC_URL }).rpc_url).toBeNull();
    const PUBLIC_RPC_URL = "http://127.0.0.1:8545";
    expect(told(31_337, { RPC_URL, PUBLIC_RPC_URL }).rpc_url).toBe(PUBLIC_RPC_URL);
  });

  it("has the block explorer, where there is one", () => {
    expect(told(1).explorer_url).toBeNull();
    expect(told(1, { EXPLORER_URL: "https://explorer.example" }).explorer_url).toBe("https://explorer.example");
  });
});
