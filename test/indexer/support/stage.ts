import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { Hex } from "viem";
import { getHead, IndexUnavailable } from "../../../api/db/index-reads.ts";
import { codeOf } from "../../../shared/process.ts";
import { eventually } from "../../support/api-client.ts";
import { mined } from "../../support/mined.ts";
import { temporaryFolder } from "../../support/processes.ts";
import { sharedDatabase } from "../../support/shared.ts";
import type { Chain } from "./chain.ts";
import { chainEvents } from "./chain-events.ts";
import { deploy, deployedChain } from "./deploy.ts";
import { Indexer } from "./indexer.ts";
import { listEvents } from "./rows.ts";
import { World } from "./world.ts";

const DEADLOCK = "40P01";

/** Chain, contracts, a database of the run's server, and an indexer that a test starts and stops. */
export class Stage {
  chain: Chain;
  world: World;
  readonly databaseUrl: string;
  readonly pool: pg.Pool;
  readonly folder: string;
  readonly #indexers: Indexer[] = [];
  readonly #removeFolder: () => void;

  private constructor(folder: { path: string; remove: () => void }, databaseUrl: string, chain: Chain, world: World) {
    this.folder = folder.path;
    this.#removeFolder = folder.remove;
    this.chain = chain;
    this.world = world;
    this.databaseUrl = databaseUrl;
    this.pool = new pg.Pool({ connectionString: this.databaseUrl });
    // PostgreSQL ends connections that a test asks it to.
    this.pool.on("error", () => {});
    this.pool.on("connect", (client) => client.on("error", () => {}));
  }

  static async open(): Promise<Stage> {
    const folder = temporaryFolder();
    const [databaseUrl, { chain, deployment }] = await Promise.all([sharedDatabase(), deployedChain(folder.path)]);
    return new Stage(folder, databaseUrl, chain, new World(chain, deployment));
  }

  /** Starts an indexer without waiting for it; `node`: another way to the chain. */
  async launchIndexer(node: { rpcUrl: string; rpcUrls?: string[]; wsUrl: string } | null = null): Promise<Indexer> {
    const indexer = await Indexer.launch({
      databaseUrl: this.databaseUrl,
      rpcUrl: node?.rpcUrl ?? this.chain.url,
      rpcUrls: node?.rpcUrls,
      wsUrl: node?.wsUrl ?? this.chain.ws,
      deploymentFile: join(this.folder, "deployment.json"),
    });
    this.#indexers.push(indexer);
    return indexer;
  }

  async startIndexer(): Promise<Indexer> {
    const indexer = await this.launchIndexer();
    await indexer.ready();
    return indexer;
  }

  /** Replaces the chain by another one (or by an older state of it) on the same port. */
  async replaceChain(chain: Promise<Chain>): Promise<void> {
    this.chain = await chain;
    this.world = new World(this.chain, this.world.deployment);
  }

  async redeploy(): Promise<void> {
    const file = join(this.folder, "deployment.json");
    rmSync(file, { force: true });
    this.world = new World(this.chain, await deploy(this.chain.url, file));
  }

  /** Waits until the index has reached the head of the chain. */
  async caughtUp(): Promise<void> {
    const head = Number(await this.chain.rpc("eth_blockNumber"));
    const indexed = async (): Promise<number | undefined> => {
      try {
        return (await getHead(this.pool))?.blockNumber;
      } catch (error) {
        // Its views come with its first block.
        if (error instanceof IndexUnavailable) return undefined;
        throw error;
      }
    };
    await eventually(indexed, (block) => block === head, 60_000);
  }

  /** Waits until the rows are where the chain has the events: the head says nothing after a reorganisation of equal length. */
  async agreed(): Promise<void> {
    // Failed items of batches are no events of the protocol: the index keeps them elsewhere.
    const onChain = (await chainEvents(this.world)).filter(({ name }) => name !== "BatchItemFailed");
    const places = (rows: { position: number; txHash: string }[]) =>
      rows.map(({ position, txHash }) => `${position} ${txHash}`).join();
    await eventually(
      () => listEvents(this.pool).catch(() => []),
      (rows) => places(rows) === places(onChain),
      60_000,
    );
  }

  /** Transactions of the last `depth` blocks, signed, in chain order: what a reorganisation can mine again. */
  async lastTransactions(depth: number): Promise<Hex[]> {
    const { reader } = this.world;
    const head = Number(await this.chain.rpc("eth_blockNumber"));
    const raw: Hex[] = [];
    for (let number = head - depth + 1; number <= head; number += 1) {
      const { transactions } = await reader.getBlock({ blockNumber: BigInt(number) });
      for (const hash of transactions) raw.push((await this.chain.rpc("eth_getRawTransactionByHash", [hash])) as Hex);
    }
    return raw;
  }

  async sql<T = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await this.pool.query(text, values)).rows as T[];
  }

  /** Mines transactions again that a reorganisation has dropped. */
  async mineAgain(raw: readonly Hex[]): Promise<void> {
    for (const transaction of raw) {
      await mined(this.world.reader, (await this.chain.rpc("eth_sendRawTransaction", [transaction])) as Hex);
    }
  }

  /** Drops everything that was indexed. */
  async dropIndex(): Promise<void> {
    const schemas = await this.sql<{ name: string }>(
      "SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'index%' OR nspname = 'ponder_sync'",
    );
    for (const { name } of schemas) {
      await eventually(() => this.#dropped(name), Boolean);
    }
  }

  /** False when it has to be tried again: gateways read meanwhile, and of two that wait for each other PostgreSQL ends one. */
  async #dropped(schema: string): Promise<boolean> {
    try {
      await this.sql(`DROP SCHEMA "${schema}" CASCADE`);
      return true;
    } catch (error) {
      if (codeOf(error) !== DEADLOCK) throw error;
      return false;
    }
  }

  async close(): Promise<void> {
    for (const indexer of this.#indexers) await indexer.stop("SIGKILL");
    await this.chain.stop("SIGKILL");
    await this.pool.end();
    this.#removeFolder();
  }
}
