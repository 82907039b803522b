/** An operator's way with a worker: from nothing to jobs, and out again with the stake. Each step builds on the ones before it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { erc20Abi, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runOperator } from "../../operator/main.ts";
import { DEV_OWNER } from "../../operator/register-workers.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { modelsFault } from "../../worker/backends/backend.ts";
import { OpenAiBackend } from "../../worker/backends/openai.ts";
import { connectChain } from "../../worker/chain.ts";
import { claimDataDir, drain, readStatus, unbond, withdraw } from "../../worker/cli/commands.ts";
import { setUp } from "../../worker/cli/setup.ts";
import { parseConfig, readInvocation } from "../../worker/config.ts";
import { Terminal } from "../../worker/console.ts";
import { addressOf, decryptKey, openWorkerKey, parseKeystore } from "../../worker/keys.ts";
import { newWorker, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type CliResult, startWorkerCli, workerCli } from "./support/cli.ts";
import { acknowledge, dispatch, lockJob } from "./support/dispatch.ts";
import { chunk, type Peer, startPeer, stream, usageAndDone } from "./support/peer.ts";
import { freePort, ROOT, type Running, until } from "./support/processes.ts";

const PASSPHRASE = "a passphrase of the test";
const PATIENCE = { timeout: 60_000, interval: 500 };
const HOURS_48 = 48 * 3_600;

let chain: TestChain;
let peer: Peer;
/** Where the worker listens first. */
let port: number;
/** The worker's, once it is registered. */
let address: Hex;
/** Processes that have been started: what still runs at the end is killed. */
const running: Running[] = [];

beforeAll(async () => {
  [chain, peer, port] = await Promise.all([startChain(), startPeer(["qwen3:8b", "qwen3-14b"]), freePort()]);
});
afterAll(async () => {
  await Promise.all(running.map((one) => one.end("SIGKILL")));
  await peer?.stop();
  await chain?.stop();
});

/** Flags and settings of a command, for a call without a process of its own. One test of each command has a process. */
function invoked(folder: string, args: string[], env: Record<string, string> = {}) {
  const { flags, values } = readInvocation(args, { ...chain.env, ...env, WORKER_DATA_DIR: join(chain.folder, folder) });
  const terminal = new Terminal((text) => text);
  const said = vi.spyOn(terminal, "say").mockImplementation(() => {});
  const config = parseConfig({ WORKER_MODELS: "none", ...values });
  return { flags, config, terminal, said: () => said.mock.calls.flat().join("\n") };
}

/** What `status --json` prints. */
const status = async (folder: string, flags: string[] = []) =>
  JSON.parse(JSON.stringify(await readStatus(invoked(folder, ["status", ...flags]).config)));

const serves = (at: number) =>
  until("the worker serves", async () => (await fetch(`http://127.0.0.1:${at}/healthz`).catch(() => null))?.ok);

const asWorker = (models: string[]): TestWorker => ({
  privateKey: "0x",
  address,
  endpoint: `http://127.0.0.1:${port}`,
  models,
});

describe("a first start", () => {
  const flags = () => ["--backend", peer.url, "--port", String(port)];
  const secret = { WORKER_PASSPHRASE: PASSPHRASE };

  /** The set-up of a first start, up to its consent. */
  async function begin(models: string, more: readonly string[], env: Record<string, string>): Promise<void> {
    const { flags: given, config, terminal } = invoked("w", [...flags(), "--models", models, ...more], env);
    const privateKey = await openWorkerKey(config, terminal);
    const backend = new OpenAiBackend({ baseUrl: peer.url, key: null, connections: 1 });
    const fault = await modelsFault(backend, config.models.values(), "");
    const connected = await connectChain(config, null);
    await setUp({ config, chain: connected, privateKey, modelsFault: fault, terminal, yes: given.yes });
  }

  it.each<[string, string, string[], Record<string, string>, RegExp]>([
    ["without a passphrase", "qwen3-8b=qwen3:8b", [], {}, /WORKER_PASSPHRASE, or --passphrase-file/],
    ["with one that is too short", "qwen3-8b=qwen3:8b", [], { WORKER_PASSPHRASE: "short" }, /at least 8/],
    [
      "for a model that the catalog does not list",
      "gpt-9",
      ["--yes"],
      secret,
      /does not list gpt-9; it lists .*qwen3-8b/,
    ],
    ["for a model that the backend does not serve", "qwen3-8b", ["--yes"], secret, /serves qwen3:8b, qwen3-14b/],
    ["with too little stake", "qwen3-8b=qwen3:8b", ["--yes", "--stake", "1"], secret, /below the minimum/],
  ])("%s changes nothing and says what to do", async (_, models, more, env, message) => {
    await expect(begin(models, more, env)).rejects.toThrow(message);
  });

  it("changes nothing without consent, says what to do, and ends with 1", async () => {
    const { code, output } = await workerCli(chain, "w", [...flags(), "--models", "qwen3-8b=qwen3:8b"], secret);
    expect([code, output]).toEqual([1, expect.stringContaining("use --yes instead")]);
  });

  it("registers, and serves jobs; its key lies encrypted in the data folder", async () => {
    const worker = startWorkerCli(chain, "w", [...flags(), "--models", "qwen3-8b=qwen3:8b", "--yes"], {
      WORKER_PASSPHRASE: PASSPHRASE,
    });
    running.push(worker);
    await serves(port);
    const keystore = join(chain.folder, "w", "keystore.json");
    expect((await stat(keystore)).mode & 0o777).toBe(0o600);
    expect((await stat(join(chain.folder, "w"))).mode & 0o777).toBe(0o700);
    const now = await status("w");
    const printed = await workerCli(chain, "w", ["status", "--json"]);
    expect([printed.code, JSON.parse(printed.output)]).toEqual([0, now]);
    address = now.address;
    expect(JSON.parse(await readFile(keystore, "utf8")).address).toBe(address.slice(2).toLowerCase());
    expect(now).toMatchObject({
      registered: true,
      active: true,
      models: ["qwen3-8b"],
      owner: address,
      endpoint: `http://127.0.0.1:${port}`,
      process: { pid: worker.child.pid, health: { status: "ok", worker: address } },
    });
    peer.play(stream(chunk({ content: "Served." }), chunk({}, "stop"), usageAndDone(3, 2)));
    const job = await lockJob(chain, asWorker(["qwen3-8b"]));
    expect((await dispatch(asWorker(["qwen3-8b"]), job)).completed?.completion.proofHash).toBe(answerHash("Served."));
    expect(worker.output()).not.toContain(PASSPHRASE);
  });

  it("a second process with the same data folder is refused", () => {
    expect(() => claimDataDir(join(chain.folder, "w"))).toThrow("is the worker of");
  });

  it("drain ends it in order; the next start needs no flags, and sends nothing", async () => {
    const { config, terminal, said } = invoked("w", ["drain"]);
    await drain(config, terminal);
    expect(said()).toContain("stopped");
    expect(await running[0]?.end("SIGTERM")).toBe(0);
    expect((await status("w")).process).toBeNull();
    const before = await chain.rpc.getTransactionCount({ address: address });
    const next = startWorkerCli(chain, "w", [], secret);
    running.push(next);
    await serves(port);
    expect(await chain.rpc.getTransactionCount({ address: address })).toBe(before);
    await next.end("SIGTERM");
  });

  it("other models and another endpoint are brought to the chain, by --yes alone", async () => {
    const other = await freePort();
    const file = join(chain.folder, "passphrase");
    await writeFile(file, `${PASSPHRASE}\n`);
    const more = ["--models", "qwen3-14b", "--port", String(other), "--endpoint", `http://127.0.0.1:${other}`];
    const flags = [...more, "--passphrase-file", file];
    // An unattended restart must come up, whatever was changed in its file, and before its model server does.
    const dead = "http://operator:password-of-gpu@127.0.0.1:1/key-0f1e2d3c4b5a6978/v1";
    const unattended = startWorkerCli(chain, "w", [...flags, "--backend", dead]);
    running.push(unattended);
    await serves(other);
    await expect.poll(unattended.output).toMatch(/nothing was sent: .*change the endpoint.*--yes/);
    await expect.poll(unattended.output).toContain("at [WORKER_BACKEND] cannot be asked");
    for (const secret of ["password-of-gpu", "0f1e2d3c4b5a6978"]) expect(unattended.output()).not.toContain(secret);
    expect(await status("w")).toMatchObject({ models: ["qwen3-8b"], endpoint: `http://127.0.0.1:${port}` });
    await unattended.end("SIGTERM");

    const allowed = startWorkerCli(chain, "w", [...flags, "--yes"]);
    running.push(allowed);
    await serves(other);
    expect(await status("w")).toMatchObject({
      models: ["qwen3-14b"],
      endpoint: `http://127.0.0.1:${other}`,
      active: true,
    });
    await allowed.end("SIGTERM");
  });
});

it("serves with the signing key alone, and names what its owner must do", async () => {
  const worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  // By the operator's command for workers of one owner.
  const file = join(chain.folder, "workers.json");
  const { privateKey, endpoint, models } = worker;
  await writeFile(file, JSON.stringify([{ privateKey, endpoint, models }]));
  const args = ["workers", "register", "--workers-file", file, "--yes"];
  const said = await runOperator(args, { ...chain.env, OPERATOR_PRIVATE_KEY: DEV_OWNER });
  expect(said).toMatch(/[1-9]\d* transactions sent and mined/);
  const at = new URL(worker.endpoint).port;
  const flags = ["--backend", peer.url, "--port", at, "--endpoint", worker.endpoint];
  const env = { WORKER_PRIVATE_KEY: worker.privateKey };
  const other = startWorkerCli(chain, "owned", [...flags, "--models", "qwen3-14b", "--yes"], env);
  running.push(other);
  await serves(Number(at));
  await expect.poll(other.output).toMatch(/host qwen3-14b.* Its owner 0x\S+ can send that/);
  await other.end("SIGTERM");
});

describe("leaving", () => {
  const secret = { WORKER_PASSPHRASE: PASSPHRASE };

  /** What the command says of the worker "w", or why it is refused. */
  async function leave(...args: ["unbond" | "withdraw", ...string[]]): Promise<string> {
    const { flags, config, terminal, said } = invoked("w", args, secret);
    const command = args[0] === "unbond" ? unbond : withdraw;
    const refused = await command(config, flags, terminal).then(
      () => "",
      (error: Error) => error.message,
    );
    return `${said()}\n${refused}`;
  }

  it("an unbonding worker starts, says so, and proves an unsettled answer", async () => {
    const at = await freePort();
    const flags = ["--models", "qwen3-14b", "--port", String(at), "--endpoint", `http://127.0.0.1:${at}`, "--yes"];
    const worker = startWorkerCli(chain, "w", flags, secret);
    running.push(worker);
    await serves(at);
    peer.play(stream(chunk({ content: "Unpaid." }), chunk({}, "stop"), usageAndDone(3, 2)));
    const asked = { ...asWorker(["qwen3-14b"]), endpoint: `http://127.0.0.1:${at}` };
    const job = await lockJob(chain, asked);
    const { acknowledgement } = await dispatch(asked, job);
    await acknowledge(chain, job, acknowledgement as Hex);
    // A busy machine can keep the worker from answering `status` in time: then the number is not known.
    const waiting = async () => (await status("w", ["--port", String(at)])).unsettled;
    await expect.poll(waiting, PATIENCE).toBeGreaterThan(0);
    await worker.end("SIGKILL");
    expect(await status("w")).toMatchObject({ process: null, unsettled: expect.toSatisfy((n) => n > 0) });
    expect(await leave("unbond", "--yes")).toMatch(/done: unbond/);

    const again = startWorkerCli(chain, "w", flags, { ...secret, WORKER_SELF_SETTLE_AFTER: "0" });
    running.push(again);
    await until(
      "the answer is proven",
      async () => (await chain.jobOf(job.assignment.jobId)).status === ChainStatus.Proven,
    );
    await expect.poll(again.output, PATIENCE).toMatch(/is unbonding.* gets no new jobs.*unbond --cancel/);
    await again.end("SIGTERM");
    expect(await status("w")).toMatchObject({ active: false, unbonds_at: expect.stringMatching(/^20/) });
    expect(await leave("unbond", "--cancel", "--yes")).toMatch(/done: take the unbonding back/);
    expect(await status("w")).toMatchObject({ active: true, unbonds_at: null });
  });

  it("unbonds and withdraws, and each step's message says what follows", async () => {
    expect(await leave("withdraw", "--yes")).toMatch(/bonded: start with .*unbond/);
    expect(await leave("unbond", "--yes")).toMatch(/done: unbond [\d,]+ SVC/);
    expect(await leave("withdraw", "--yes")).toMatch(/free from/);
    await chain.rpc.increaseTime({ seconds: HOURS_48 + 60 });
    await chain.rpc.mine({ blocks: 1 });
    const receiver = privateKeyToAccount(generatePrivateKey()).address;
    const paid = await workerCli(chain, "w", ["withdraw", "--to", receiver, "--yes"], secret);
    expect(paid).toMatchObject({ code: 0, output: expect.stringContaining("pay") });
    const { ServiceToken } = chain.deployment.contracts;
    const token = { address: ServiceToken, abi: erc20Abi } as const;
    expect(await chain.rpc.readContract({ ...token, functionName: "balanceOf", args: [receiver] })).toBeGreaterThan(0n);
    expect(await status("w")).toMatchObject({ active: false, stake: "0 SVC" });
  });
});

describe("at a terminal", () => {
  /** Runs a program at a terminal, which util-linux gives it; `answer` waits for a question. */
  function atTerminal(command: string, env: Record<string, string> = {}) {
    const settings = { PATH: process.env.PATH ?? "", ...env };
    const child = spawn("script", ["-qefc", command, "/dev/null"], { cwd: ROOT, env: settings, stdio: "pipe" });
    // It may end between two answers: the next question that does not come says so.
    child.stdin.on("error", () => {});
    let seen = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      seen += text;
    });
    const answer = async (question: RegExp, text: string) => {
      await until(String(question), async () => question.test(seen));
      child.stdin.write(`${text}\r`);
    };
    const end = async () => {
      if (child.exitCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "close");
    };
    return { child, answer, end, seen: () => seen };
  }

  it("a new key asks for a passphrase twice, and shows none", async ({ skip }) => {
    skip(process.platform !== "linux", "`script`, which gives a program a terminal, takes other options here");
    const folder = join(chain.folder, "new-key");
    const terminal = atTerminal(`${process.execPath} test/worker/support/make-key.ts ${folder}`);
    const ended = once(terminal.child, "close");
    try {
      await terminal.answer(/Choose a passphrase/, PASSPHRASE);
      await terminal.answer(/Once more/, PASSPHRASE);
      expect(await ended).toEqual([0, null]);
    } finally {
      await terminal.end();
    }
    expect(terminal.seen()).not.toContain(PASSPHRASE);
    const keystore = parseKeystore(await readFile(join(folder, "keystore.json"), "utf8"), "it");
    expect(privateKeyToAccount(await decryptKey(keystore, PASSPHRASE)).address).toBe(addressOf(keystore));
  });

  it("the first start on a development chain asks for consent, and for no passphrase", async ({ skip }) => {
    skip(process.platform !== "linux", "`script`, which gives a program a terminal, takes other options here");
    const at = await freePort();
    const command = `${process.execPath} worker/main.ts --backend ${peer.url} --models qwen3-14b --port ${at}`;
    const terminal = atTerminal(command, { ...chain.env, WORKER_DATA_DIR: join(chain.folder, "asked") });
    let ended: CliResult | undefined;
    try {
      await terminal.answer(/register 0x\S+ at http:\/\/127[\s\S]*Send that\?/, "y");
      await serves(at);
      expect(terminal.seen()).not.toMatch(/[Pp]assphrase/);
      expect(await status("asked")).toMatchObject({ active: true, models: ["qwen3-14b"] });
    } finally {
      ended = await workerCli(chain, "asked", ["drain"]);
      await terminal.end();
    }
    expect(ended).toMatchObject({ code: 0, output: expect.stringContaining("stopped") });
  });
});
