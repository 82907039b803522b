import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rpc } from "../../scripts/dev/chain.ts";
import { freePorts, type Ports } from "../../scripts/dev/ports.ts";
import { removeDataDir } from "../../scripts/dev/postgres.ts";
import { only, startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";
import { isRunning, type Program, run, stackEnv } from "./support/programs.ts";

const parts = only("chain", "database");
const STARTER = "test/bootstrap/support/starter.ts";

describe("a stack and who started it", () => {
  let dataDir = "";
  let ports: Ports;
  let stack: TestStack | undefined;
  let program: Program | undefined;

  beforeEach(async () => {
    dataDir = temporaryDataDir();
    ports = await freePorts(1);
  });
  afterEach(async () => {
    program?.child.kill("SIGKILL");
    await stack?.stop();
    removeDataDir(dataDir);
    stack = undefined;
    program = undefined;
  });

  it("kill -9 of the starter stops its parts in order; the next start waits", async () => {
    program = run([STARTER, ...parts], stackEnv(dataDir, ports));
    await program.said("started");
    const left = JSON.parse(program.output().match(/started (.*)/)?.[1] ?? "") as { name: string; pid: number }[];
    const [from] = await rpc<string[]>(`http://127.0.0.1:${ports.chain}`, "eth_accounts");
    await rpc(`http://127.0.0.1:${ports.chain}`, "eth_sendTransaction", [{ from, to: from, value: "0x1" }]);
    await expect.poll(() => rpc(`http://127.0.0.1:${ports.chain}`, "eth_blockNumber"), { timeout: 60_000 }).toBe("0x2");
    program.child.kill("SIGKILL");
    await once(program.child, "exit");

    const lines: string[] = [];
    stack = await startTestStack({ parts, dataDir, ports, write: (line) => lines.push(line) });
    expect(lines[0]).toMatch(/the last start was killed: waiting until its parts have stopped/);
    expect(left.map(({ pid }) => isRunning(pid))).toEqual([false, false]);
    // It was asked to stop, not killed: the last block is there, younger than any dump on a timer.
    expect(await rpc(stack.info.rpc_url, "eth_blockNumber")).toBe("0x2");
  });

  it("kill -9 of the starter ends its parts also without a next start", async () => {
    program = run([STARTER, "chain"], stackEnv(dataDir, ports));
    await program.said("started");
    const left = JSON.parse(program.output().match(/started (.*)/)?.[1] ?? "") as { name: string; pid: number }[];
    expect(left.map(({ pid }) => isRunning(pid))).toEqual([true]);
    program.child.kill("SIGKILL");
    await expect.poll(() => left.some(({ pid }) => isRunning(pid)), { timeout: 60_000 }).toBe(false);
  });

  it("a second start on the same folder says which process has it", async () => {
    stack = await startTestStack({ parts: only("chain"), dataDir, ports });
    const other = await freePorts(1);
    program = run(["scripts/start.ts"], stackEnv(dataDir, other));
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain(`already running (process ${process.pid})`);
    expect(stack.processes().every(({ running }) => running)).toBe(true);
  });

  it("a port in use is named, with the variable to set", async () => {
    const server = createServer();
    await once(server.listen(ports.chain, "127.0.0.1"), "listening");
    program = run(["scripts/start.ts"], stackEnv(dataDir, ports));
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain(`Port ${ports.chain}, wanted for the chain, is in use`);
    expect(program.output()).toContain(`CHAIN_PORT=${ports.chain + 1} npm start`);
    server.close();
  });

  it("an unknown option is an error, and --help names every option and setting", async () => {
    program = run(["scripts/start.ts", "--backnd", "http://127.0.0.1:8000/v1"], stackEnv(dataDir, ports));
    expect(await program.ended).toBe(2);
    expect(program.output()).toMatch(/Unknown option '--backnd'[\s\S]*Usage: npm start/);
    program = run(["scripts/start.ts", "--help"], stackEnv(dataDir, ports));
    expect(await program.ended).toBe(0);
    for (const name of [
      "--backend",
      "--models",
      ...Object.keys(stackEnv(dataDir, ports)),
      "BLOCK_TIME",
      "DATABASE_URL",
    ])
      expect(program.output()).toContain(name);
  });

  it("a part that dies is named with its last lines, and nothing is left running", async () => {
    stack = await startTestStack({ parts, dataDir, ports, verbose: false });
    const postgres = stack.processes().find(({ name }) => name === "postgres")?.pid ?? 0;
    process.kill(postgres, "SIGKILL");
    const { message } = await stack.died;
    expect(message).toMatch(/^postgres was ended by SIGKILL/);
    expect(message).toMatch(/ready to accept connections/);
    expect(message).toMatch(/What to do: /);
    await stack.stop();
    expect(stack.processes().filter(({ running }) => running)).toEqual([]);
  });

  it("a part that cannot start is told with its own message", async () => {
    const failed = startTestStack({ parts: only("chain"), dataDir, ports, blockTime: -1 });
    await expect(failed).rejects.toThrow(/chain ended with exit code 2[\s\S]*unexpected argument[\s\S]*What to do/);
  });

  it("a stack can be given up while it starts", async () => {
    program = run(["scripts/start.ts"], stackEnv(dataDir, ports));
    await program.said("chain ");
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(0);
    expect(program.output()).toContain("stopping in order");
    // Everything was stopped: the ports are free again for another one.
    stack = await startTestStack({ parts, dataDir, ports });
  });
});
