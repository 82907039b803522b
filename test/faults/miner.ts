import { setTimeout as sleep } from "node:timers/promises";
import { rpc } from "../../scripts/dev/chain.ts";

const BLOCK_MS = 250;

/**
 * Mines a block every quarter of a second, in place of the node's own clock: that one goes on while anvil reorganises the chain or
 * writes it out, and leaves gaps in blocks and nonces that no real chain has.
 */
export class Miner {
  readonly #url: string;
  #mining: Promise<unknown> = Promise.resolve();
  #held = false;
  #stopped = false;

  constructor(url: string) {
    this.#url = url;
    void this.#loop();
  }

  /** Does `work` while no block is mined. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#held = true;
    try {
      await this.#mining;
      return await work();
    } finally {
      this.#held = false;
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) {
      // A node that is killed, stopped or not yet there mines nothing: that is what the faults are about.
      if (!this.#held) this.#mining = rpc(this.#url, "evm_mine").catch(() => {});
      await this.#mining;
      await sleep(BLOCK_MS);
    }
  }
}
