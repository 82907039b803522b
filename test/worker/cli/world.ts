import type { Hex } from "viem";
import { expect } from "vitest";
import { startChain, type TestChain, type TestWorker } from "../support/chain.ts";
import { workerCli } from "../support/cli.ts";
import { type Peer, startPeer } from "../support/peer.ts";
import { freePort, type Running, until } from "../support/processes.ts";

export const PASSPHRASE = "a passphrase of the test";

/** A chain, a model server, and the worker that an operator sets up with the command line. */
export class World {
  chain!: TestChain;
  peer!: Peer;
  /** Where the worker listens first. */
  port!: number;
  /** The worker's, once it is registered. */
  address!: Hex;
  /** Processes that have been started: what still runs at the end is killed. */
  readonly running: Running[] = [];

  async open(): Promise<void> {
    [this.chain, this.peer, this.port] = await Promise.all([
      startChain(),
      startPeer(["qwen3:8b", "qwen3-14b"]),
      freePort(),
    ]);
  }

  async close(): Promise<void> {
    await Promise.all(this.running.map((one) => one.end("SIGKILL")));
    await this.peer?.stop();
    await this.chain?.stop();
  }

  async status(folder: string, flags: string[] = []) {
    const { code, output } = await workerCli(this.chain, folder, ["status", "--json", ...flags]);
    expect([code, output]).toEqual([0, expect.stringMatching(/^\{/)]);
    return JSON.parse(output);
  }

  async serves(at: number): Promise<void> {
    const health = async () => (await fetch(`http://127.0.0.1:${at}/healthz`).catch(() => null))?.ok;
    await until("the worker serves", health, 60_000);
  }

  asWorker(models: string[]): TestWorker {
    return { privateKey: "0x", address: this.address, endpoint: `http://127.0.0.1:${this.port}`, models };
  }
}
