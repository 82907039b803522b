import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { LAUNCH_MODELS } from "../../../scripts/deploy/launch-models.ts";
import { demandRoom, StackError } from "../../../scripts/dev/files.ts";
import { findServed, inWords, listingsOf, poolOf, shareOut } from "../../../scripts/dev/models.ts";
import { portsFromEnv } from "../../../scripts/dev/ports.ts";
import type { ModelServer } from "../../../worker/model-servers.ts";

it("no usual port is one that Linux hands out to outgoing connections", () => {
  // net.ipv4.ip_local_port_range of a stock kernel begins there.
  for (const port of Object.values(portsFromEnv({}))) expect(port).toBeLessThan(32_768);
});

describe("the model servers behind a stack", () => {
  const model = (name: string) => ({ name, parameters: 4e9, context: 8_192 });
  const ollama: ModelServer = { kind: "Ollama", url: "http://o/v1", models: [model("qwen3:8b"), model("mine")] };
  const llama: ModelServer = { kind: "llama-server", url: "http://l/v1", models: [model("Qwen3-8B.gguf"), model("b")] };

  it("share the models out: each has one server or a generator", () => {
    const served = shareOut([ollama, llama]);
    const pool = poolOf([{}, {}], served);
    expect(pool.map(({ env, models }) => [env?.["WORKER_BACKEND"], env?.["WORKER_MODELS"] ?? models?.length])).toEqual([
      [undefined, LAUNCH_MODELS.length - 1],
      [undefined, LAUNCH_MODELS.length - 1],
      ["http://o/v1", "qwen3-8b=qwen3:8b,mine=mine"],
      ["http://l/v1", "b=b"],
    ]);
    expect(pool[0]?.models).not.toContain("qwen3-8b");
    expect(listingsOf(served)).toMatchObject([
      { id: "mine", contextWindow: 8_192 },
      { id: "b", parameters: "4B" },
    ]);
  });

  it("leave no generator where they serve every launch model", () => {
    const all = { ...ollama, models: LAUNCH_MODELS.map(({ id }) => model(id)) };
    expect(poolOf([{}, {}], shareOut([all]))).toHaveLength(1);
  });

  it("are told in words, as is that there is none and where it was looked", () => {
    expect(inWords(shareOut([ollama]), {})).toEqual(["Ollama at http://o/v1 serves qwen3:8b as qwen3-8b, mine"]);
    expect(inWords([], {}).join(" ")).toMatch(/no model server answers.*Ollama on port 11434.*demo text/);
    expect(inWords([], { LOOK_FOR_MODELS: "no" }).join(" ")).toMatch(/demo text/);
  });

  it("are not looked for where that is forbidden, and one that is named must answer", async () => {
    expect(await findServed({}, { LOOK_FOR_MODELS: "no" })).toEqual([]);
    await expect(findServed({ models: "a" }, {})).rejects.toThrow("--models needs --backend URL");
    await expect(findServed({ backend: "http://127.0.0.1:2/v1" }, {})).rejects.toThrow(/no model server answers/);
  });
});

describe("the data folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "data-folder-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is made, with the folders above it", () => {
    demandRoom(join(folder, "a", "b"), () => 1e12);
  });

  it("that cannot be written is told in a sentence, also where no folder can be made", () => {
    writeFileSync(join(folder, "file"), "");
    const message = /The data folder .* cannot be written \(.*\): .*DATA_DIR/;
    expect(() => demandRoom(join(folder, "file", "x"))).toThrow(message);
    if (process.platform === "linux") expect(() => demandRoom("/proc/none/x")).toThrow(message);
  });

  it("on a disk that is nearly full is refused before anything starts", () => {
    expect(() => demandRoom(folder, () => 12_000_000)).toThrow(StackError);
    expect(() => demandRoom(folder, () => 12_000_000)).toThrow(/has 12 MB left, and a stack needs 500 MB: free some/);
  });
});
