import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { demandBackend, readConfig, readInvocation } from "../../../worker/config.ts";
import { ConfigError } from "../../../worker/console.ts";

const env = {
  DEPLOYMENT_FILE: "d.json",
  WORKER_PRIVATE_KEY: `0x${"1".repeat(64)}`,
  WORKER_DATA_DIR: "data",
  WORKER_MODELS: "a, b=backend-b ,",
};

describe("configuration of a worker", () => {
  it("has defaults for all but the essentials", () => {
    const config = readConfig([], env);
    expect(config).toMatchObject({
      port: 9101,
      host: "127.0.0.1",
      backend: { kind: "builtin" },
      selfSettleAfter: null,
    });
    expect([...config.models]).toEqual([
      ["a", "a"],
      ["b", "backend-b"],
    ]);
  });

  it("lets flags win over the environment, and takes empty variables for unset ones", () => {
    const config = readConfig(["--port", "9200", "--backend", "http://gpu:8000/v1", "--models", "c"], {
      ...env,
      WORKER_PORT: "9300",
      WORKER_QUEUE: "",
    });
    expect(config).toMatchObject({ port: 9200, queue: 64, backend: { kind: "openai", url: "http://gpu:8000/v1" } });
    expect([...config.models.keys()]).toEqual(["c"]);
  });

  it("declares what its model server can do, for all models or for one", () => {
    const abilities = (change: object) =>
      Object.fromEntries(readConfig([], { ...env, WORKER_BACKEND: "http://gpu:8000/v1", ...change }).abilities);
    expect(abilities({})).toEqual({ a: [], b: [] });
    expect(abilities({ WORKER_ABILITIES: "json_object, b=reasoning" })).toEqual({
      a: ["json_object"],
      b: ["json_object", "reasoning"],
    });
    expect(abilities({ WORKER_ABILITIES: "b=always_reasoning" })).toEqual({
      a: [],
      b: ["reasoning", "always_reasoning"],
    });
    const all = ["json_object", "json_schema", "reasoning"];
    expect(abilities({ WORKER_BACKEND: "builtin" })).toEqual({ a: all, b: all });
    expect(abilities({ WORKER_BACKEND: "builtin", WORKER_ABILITIES: "none" })).toEqual({ a: [], b: [] });
  });

  it.each([
    ["WORKER_ABILITIES", { WORKER_ABILITIES: "tools" }],
    ["WORKER_ABILITIES", { WORKER_ABILITIES: "c=reasoning" }],
    ["WORKER_PORT", { WORKER_PORT: "70000" }],
    ["RPC_URL", { RPC_URL: "https://user:0x12%@node.example.com" }],
    ["WORKER_PRIVATE_KEY", { WORKER_PRIVATE_KEY: "0x12" }],
    ["WORKER_BACKEND", { WORKER_BACKEND: "gpu:8000" }],
    ["WORKER_MODELS", { WORKER_MODELS: "" }],
    ["WORKER_CONCURRENCY", { WORKER_CONCURRENCY: "0" }],
    ["WORKER_PAYOUT", { WORKER_PAYOUT: "0x12" }],
    ["WORKER_ENDPOINT", { WORKER_ENDPOINT: "my-host" }],
  ])("names %s when it is wrong, without its value", (name, change) => {
    const read = () => readConfig([], { ...env, ...change });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(name);
    expect(read).not.toThrow("0x12");
  });

  it("names a setting by its flag, too, and does not bury that under a page of help", () => {
    const { WORKER_MODELS: _, ...rest } = env;
    expect(() => readConfig([], rest)).toThrow(
      /^[^\n]*\n {2}--models \(WORKER_MODELS\): is needed[^\n]*\n[^\n]*--help/,
    );
  });

  it("serves no customers with the text generator unless that was asked for", () => {
    expect(() => demandBackend({}, 1)).toThrow(/--backend .* is needed/);
    demandBackend({}, 31_337);
    demandBackend({ WORKER_BACKEND: "builtin" }, 1);
    demandBackend({ WORKER_BACKEND: "http://127.0.0.1:8000/v1" }, 1);
  });

  it("knows no other flags", () => {
    expect(() => readConfig(["--private-key", "0x1"], env)).toThrow(/private-key.*--help/s);
  });
});

describe("a configuration file", () => {
  const folder = mkdtempSync(join(tmpdir(), "worker-config-"));
  const file = join(folder, "config.json");
  beforeAll(() => {
    writeFileSync(file, JSON.stringify({ backend: "http://gpu:8000/v1", models: ["a", "b=c"], port: 9400 }));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is read from the data folder; environment and flags win over it", () => {
    const environment = { DEPLOYMENT_FILE: "d.json", WORKER_DATA_DIR: folder, WORKER_PORT: "9500" };
    const config = readConfig(["--models", "x"], environment);
    expect(config).toMatchObject({ port: 9500, backend: { url: "http://gpu:8000/v1" }, privateKey: null });
    expect([...config.models.keys()]).toEqual(["x"]);
    expect([...readConfig([], environment).models.values()]).toEqual(["a", "c"]);
  });

  it("must be there when it is named, and holds no secrets and no unknown settings", () => {
    expect(() => readConfig(["--config", join(folder, "none.json")], env)).toThrow(/none\.json/);
    const strange = join(folder, "strange.json");
    writeFileSync(strange, JSON.stringify({ privateKey: "0x1" }));
    expect(() => readConfig(["--config", strange], env)).toThrow(/no setting "privateKey"/);
    writeFileSync(strange, "{");
    expect(() => readConfig(["--config", strange], env)).toThrow(/not a JSON object/);
  });
});

describe("beside a local stack", () => {
  const folder = mkdtempSync(join(tmpdir(), "worker-stack-"));
  const { DEPLOYMENT_FILE, ...unnamed } = { ...env, DATA_DIR: folder };
  const file = join(folder, "stack.json");
  beforeAll(() => {
    const stack = {
      rpc_url: "http://127.0.0.1:8600",
      deployment_file: join(folder, "deployment.json"),
      worker_port: 9203,
    };
    writeFileSync(file, JSON.stringify(stack));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("takes node, contracts and a free port from its stack.json", () => {
    const deploymentFile = join(folder, "deployment.json");
    expect(readConfig([], unnamed)).toMatchObject({ rpcUrl: "http://127.0.0.1:8600", deploymentFile, port: 9203 });
  });

  it("lets explicit settings win", () => {
    const named = { RPC_URL: "http://node.example.com", WORKER_PORT: "9400" };
    const deploymentFile = join(folder, "deployment.json");
    expect(readConfig([], { ...unnamed, ...named })).toMatchObject({
      rpcUrl: named.RPC_URL,
      deploymentFile,
      port: 9400,
    });
    // Another service's contracts: the stack's ports are not its business.
    const other = { deploymentFile: "other.json", port: 9101 };
    expect(readConfig(["--deployment", "other.json"], unnamed)).toMatchObject(other);
  });

  it("does not keep them: the stack may have others at the next start", () => {
    expect(Object.keys(readInvocation([], unnamed).values)).not.toContain("RPC_URL");
  });

  it("says what to set where there is none, or a damaged one", () => {
    const none = { ...unnamed, DATA_DIR: join(folder, "none") };
    expect(() => readConfig([], none)).toThrow(
      /WORKER_SERVICE.* is needed.*none\/stack\.json.*DEPLOYMENT_FILE.*RPC_URL.*DATA_DIR/s,
    );
    expect(readConfig([], { ...none, DEPLOYMENT_FILE })).toMatchObject({ rpcUrl: "http://127.0.0.1:8545" });
    writeFileSync(file, "{");
    expect(() => readConfig([], unnamed)).toThrow(ConfigError);
    expect(() => readConfig([], unnamed)).toThrow(`${file} is not a stack file`);
  });
});

describe("the command line", () => {
  it("runs by default, knows its commands, and refuses others", () => {
    expect(readInvocation([], {}).command).toBe("run");
    expect(readInvocation(["unbond", "--cancel", "--yes"], {})).toMatchObject({
      command: "unbond",
      flags: { cancel: true, yes: true },
    });
    expect(() => readInvocation(["stop"], {})).toThrow(/unknown command "stop"/);
  });
});
