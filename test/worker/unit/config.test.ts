import { describe, expect, it } from "vitest";
import { ConfigError, readConfig } from "../../../worker/config.ts";

const env = {
  DEPLOYMENT_FILE: "d.json",
  WORKER_PRIVATE_KEY: `0x${"1".repeat(64)}`,
  WORKER_DATA_DIR: "data",
  WORKER_MODELS: "a, b=backend-b ,",
};

describe("configuration of a worker", () => {
  it("has defaults for all but the essentials", () => {
    const config = readConfig([], env);
    expect(config).toMatchObject({ port: 9101, host: "127.0.0.1", backend: { url: "builtin" }, selfSettleAfter: null });
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
    expect(config).toMatchObject({ port: 9200, queue: 64, backend: { url: "http://gpu:8000/v1" } });
    expect([...config.models.keys()]).toEqual(["c"]);
  });

  it.each([
    ["WORKER_PORT", { WORKER_PORT: "70000" }],
    ["WORKER_PRIVATE_KEY", { WORKER_PRIVATE_KEY: "0x12" }],
    ["WORKER_BACKEND", { WORKER_BACKEND: "gpu:8000" }],
    ["WORKER_MODELS", { WORKER_MODELS: "" }],
    ["WORKER_CONCURRENCY", { WORKER_CONCURRENCY: "0" }],
    ["DEPLOYMENT_FILE", { DEPLOYMENT_FILE: undefined }],
  ])("names %s when it is wrong, without its value", (name, change) => {
    const read = () => readConfig([], { ...env, ...change });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(name);
    expect(read).not.toThrow("0x12");
  });

  it("knows no other flags", () => {
    expect(() => readConfig(["--private-key", "0x1"], env)).toThrow(/Usage/);
  });
});
