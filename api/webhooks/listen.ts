import pg from "pg";
import type { Logger } from "pino";

const RECONNECT_MS = 1_000;

/** Calls `notified` for each notification of a PostgreSQL channel, on a connection of its own that is made again when it breaks. */
export class Listener {
  readonly #url: string;
  readonly #channel: string;
  readonly #notified: () => void;
  readonly #logger: Logger;
  #client: pg.Client | null = null;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(url: string, channel: string, notified: () => void, logger: Logger) {
    this.#url = url;
    this.#channel = channel;
    this.#notified = notified;
    this.#logger = logger;
  }

  start(): void {
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#client
      ?.end()
      .catch((error) => this.#logger.debug({ err: error }, "the listener's connection was gone"));
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: "gateway webhooks",
      keepAlive: true,
    });
    this.#client = client;
    let lost = false;
    const again = (error?: Error) => {
      if (lost || this.#stopped) return;
      lost = true;
      this.#logger.debug({ err: error }, "the listener lost its connection: until it has another one, polling goes on");
      this.#timer = setTimeout(() => void this.#connect(), RECONNECT_MS);
      client.end().catch(() => {}); // it is broken already
    };
    client.on("error", again);
    client.on("end", () => again());
    client.on("notification", this.#notified);
    try {
      await client.connect();
      await client.query(`LISTEN ${pg.escapeIdentifier(this.#channel)}`);
      this.#notified(); // what came while nobody listened
    } catch (error) {
      again(error as Error);
    }
  }
}
