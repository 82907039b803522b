import type pg from "pg";
import { eventually } from "../../support/api-client.ts";
import { Client, openStore } from "../../support/client.ts";
import { type Received, Receiver } from "../../support/receiver.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

/** A whole stack with one worker, a client with credits, an endpoint. */
export class World {
  stack!: TestStack;
  pool!: pg.Pool;
  receiver!: Receiver;
  client!: Client;

  async open(): Promise<void> {
    this.stack = await startTestStack({ workers: [{ models: ["qwen3-8b"] }] });
    this.pool = openStore(this.stack);
    this.receiver = await Receiver.open();
    this.client = await Client.create(this.stack, this.pool, 2_000);
    await this.client.deposit(1_000);
  }

  async close(): Promise<void> {
    this.receiver?.close();
    await this.pool?.end();
    await this.stack?.remove();
  }

  /** Waits until a path has got `count` requests. */
  async got(path: string, count: number): Promise<Received[]> {
    return await eventually(
      async () => this.receiver.to(path),
      (all) => all.length >= count,
    );
  }
}

/** The secret of a client that chose its own. */
export const SECRET = "a secret that the client chose";
