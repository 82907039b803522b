import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { startWorkerCli, workerCli } from "../support/cli.ts";
import { dispatch, lockJob } from "../support/dispatch.ts";
import { chunk, stream, usageAndDone } from "../support/peer.ts";
import { freePort } from "../support/processes.ts";
import { PASSPHRASE, type World } from "./world.ts";

/** From nothing to jobs, and every start after that. */
export function firstStart(world: World): void {
  describe("a first start", { timeout: 120_000 }, () => {
    const flags = () => ["--backend", world.peer.url, "--port", String(world.port)];
    const start = (
      models: string,
      more: string[] = [],
      env: Record<string, string> = { WORKER_PASSPHRASE: PASSPHRASE },
    ) => workerCli(world.chain, "w", [...flags(), "--models", models, ...more], env);

    it.each([
      ["without a passphrase", "qwen3-8b=qwen3:8b", [], {}, /WORKER_PASSPHRASE, or --passphrase-file/],
      ["with one that is too short", "qwen3-8b=qwen3:8b", [], { WORKER_PASSPHRASE: "short" }, /at least 8/],
      [
        "for a model that the catalog does not list",
        "gpt-9",
        ["--yes"],
        undefined,
        /does not list gpt-9; it lists .*qwen3-8b/,
      ],
      [
        "for a model that the backend does not serve",
        "qwen3-8b",
        ["--yes"],
        undefined,
        /does not serve qwen3-8b; it serves qwen3:8b, qwen3-14b/,
      ],
      ["with too little stake", "qwen3-8b=qwen3:8b", ["--yes", "--stake", "1"], undefined, /below the minimum/],
      ["without anybody to agree", "qwen3-8b=qwen3:8b", [], undefined, /use --yes instead/],
    ] as const)("%s changes nothing and says what to do", async (_, models, more, env, message) => {
      const { code, output } = await start(models, [...more], env);
      expect(output).toMatch(message);
      expect(code).toBe(1);
    });

    it("registers, and serves jobs; its key lies encrypted in the data folder", async () => {
      const worker = startWorkerCli(world.chain, "w", [...flags(), "--models", "qwen3-8b=qwen3:8b", "--yes"], {
        WORKER_PASSPHRASE: PASSPHRASE,
      });
      world.running.push(worker);
      await world.serves(world.port);
      const keystore = join(world.chain.folder, "w", "keystore.json");
      expect((await stat(keystore)).mode & 0o777).toBe(0o600);
      expect((await stat(join(world.chain.folder, "w"))).mode & 0o777).toBe(0o700);
      const now = await world.status("w");
      const { address } = now;
      world.address = address;
      expect(JSON.parse(await readFile(keystore, "utf8")).address).toBe(address.slice(2).toLowerCase());
      expect(now).toMatchObject({
        registered: true,
        active: true,
        models: ["qwen3-8b"],
        owner: address,
        endpoint: `http://127.0.0.1:${world.port}`,
        process: { pid: worker.child.pid, health: { status: "ok", worker: address } },
      });
      world.peer.play(stream(chunk({ content: "Served." }), chunk({}, "stop"), usageAndDone(3, 2)));
      const job = await lockJob(world.chain, world.asWorker(["qwen3-8b"]));
      expect((await dispatch(world.asWorker(["qwen3-8b"]), job)).completed?.completion.proofHash).toBe(
        answerHash("Served."),
      );
      expect(worker.output()).not.toContain(PASSPHRASE);
    });

    it("a second process with the same data folder is refused", async () => {
      const { code, output } = await start("qwen3-8b=qwen3:8b", ["--yes"]);
      expect([code, output]).toEqual([1, expect.stringContaining("is the worker of")]);
    });

    it("drain ends it in order; the next start needs no flags, and sends nothing", async () => {
      const drained = await workerCli(world.chain, "w", ["drain"]);
      expect(drained).toMatchObject({ code: 0, output: expect.stringContaining("stopped") });
      expect(await world.running[0]?.end("SIGTERM")).toBe(0);
      expect((await world.status("w")).process).toBeNull();
      const before = await world.chain.rpc.getTransactionCount({ address: world.address });
      world.running.push(startWorkerCli(world.chain, "w", [], { WORKER_PASSPHRASE: PASSPHRASE }));
      await world.serves(world.port);
      expect(await world.chain.rpc.getTransactionCount({ address: world.address })).toBe(before);
      await workerCli(world.chain, "w", ["drain"]);
    });

    it.each([
      ["its address", "http://operator:password-of-gpu@127.0.0.1:1/v1", "at http://127.0.0.1:1/v1 cannot be asked"],
      ["its setting's name", "http://127.0.0.1:1/key-0f1e2d3c4b5a6978/v1", "at [WORKER_BACKEND] cannot be asked"],
    ])("a model server that does not answer is told by %s, without password and key", async (_, backend, said) => {
      const worker = startWorkerCli(world.chain, "w", ["--backend", backend], { WORKER_PASSPHRASE: PASSPHRASE });
      world.running.push(worker);
      await world.serves(world.port);
      await expect.poll(worker.output, { timeout: 60_000 }).toContain(said);
      await workerCli(world.chain, "w", ["drain"]);
      for (const secret of ["password-of-gpu", "0f1e2d3c4b5a6978"]) expect(worker.output()).not.toContain(secret);
    });

    it("other models and another endpoint are brought to the chain", async () => {
      const other = await freePort();
      const file = join(world.chain.folder, "passphrase");
      await writeFile(file, `${PASSPHRASE}\n`);
      const more = ["--models", "qwen3-14b", "--port", String(other), "--endpoint", `http://127.0.0.1:${other}`];
      const flags = [...more, "--passphrase-file", file];
      // An unattended restart must come up, whatever was changed in its file.
      const unattended = startWorkerCli(world.chain, "w", flags);
      world.running.push(unattended);
      await world.serves(other);
      await expect
        .poll(unattended.output, { timeout: 60_000 })
        .toMatch(/nothing was sent: .*change the endpoint.*--yes/);
      expect(await world.status("w")).toMatchObject({
        models: ["qwen3-8b"],
        endpoint: `http://127.0.0.1:${world.port}`,
      });
      await workerCli(world.chain, "w", ["drain"]);

      world.running.push(startWorkerCli(world.chain, "w", [...flags, "--yes"]));
      await world.serves(other);
      expect(await world.status("w")).toMatchObject({
        models: ["qwen3-14b"],
        endpoint: `http://127.0.0.1:${other}`,
        active: true,
      });
      await workerCli(world.chain, "w", ["drain"]);
    });

    it("a wrong passphrase opens nothing", async () => {
      const { code, output } = await workerCli(world.chain, "w", [], { WORKER_PASSPHRASE: "another passphrase" });
      expect([code, output]).toEqual([1, expect.stringContaining("wrong passphrase")]);
    });
  });
}
