import type { Address } from "viem";
import type { Indexer } from "../../indexer/support/indexer.ts";
import { Stage } from "../../indexer/support/stage.ts";
import { eventually } from "../../support/api-client.ts";
import { Receiver } from "../../support/receiver.ts";
import { Webhooks } from "../support/gateway.ts";

/** A chain with its index, a gateway's webhooks, and a receiver. */
export class World {
  stage!: Stage;
  indexer!: Indexer;
  webhooks!: Webhooks;
  receiver!: Receiver;

  async open(): Promise<void> {
    this.stage = await Stage.open();
    this.indexer = await this.stage.startIndexer();
    this.webhooks = await Webhooks.start(this.stage);
    this.receiver = await Receiver.open();
  }

  async close(): Promise<void> {
    this.receiver?.close();
    await this.webhooks?.stop();
    await this.stage?.close();
  }

  client(): Address {
    return this.stage.world.client.address;
  }

  /** Ids of the events that came to a path. */
  ids(path: string): string[] {
    return this.receiver.to(path).map(({ event }) => event.id);
  }

  /** Waits until everything the index has is derived and sent, replaced blocks included. */
  async quiet(): Promise<void> {
    await this.stage.agreed();
    const head = Number(await this.stage.chain.rpc("eth_blockNumber"));
    await eventually(
      () => this.webhooks.sql<{ block: number }>("SELECT block FROM webhook_watermark"),
      ([row]) => row !== undefined && row.block >= head,
    );
    await this.sent();
  }

  /** Waits until what the index has now, as far as it is confirmed, is derived and sent. */
  async sent(): Promise<void> {
    await this.webhooks.derived();
    await eventually(
      () =>
        this.webhooks.sql<{ pending: number }>(
          "SELECT count(*) AS pending FROM webhook_delivery WHERE status = 'pending'",
        ),
      ([row]) => row?.pending === 0,
    );
  }
}
