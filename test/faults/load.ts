import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Asked, ask } from "../support/asked.ts";
import type { Client } from "../support/client.ts";
import type { Random } from "../support/random.ts";
import { MODEL, type World } from "./world.ts";

/** No client waits longer than this for anything: a hang shows as such. */
const PATIENCE_MS = 90_000;

/** Clients that send one request after the other until told to stop; every answer is kept. */
export class Load {
  readonly requests: Asked[] = [];
  readonly #world: World;
  readonly #clients: Promise<void>[];
  #stopping = false;

  constructor(world: World, random: Random, concurrency: number) {
    this.#world = world;
    this.#clients = Array.from({ length: concurrency }, (_, n) => {
      const client = world.clients[n % world.clients.length] as Client;
      return this.#client(client, random.fork());
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#clients);
  }

  async #client(client: Client, random: Random): Promise<void> {
    while (!this.#stopping) {
      const gateway = random.pick(this.#world.gateways);
      const request = await this.#ask(client, gateway, random);
      this.requests.push(request);
      // Whoever is refused waits a moment, as clients do.
      if (request.outcome !== "answered") await sleep(random.int(100, 400));
    }
  }

  async #ask(client: Client, gateway: string, random: Random): Promise<Asked> {
    const stream = random.chance(0.5);
    return ask({
      gateway,
      apiKey: client.apiKey,
      idempotencyKey: random.chance(0.2) ? randomUUID() : null,
      leaves: random.chance(0.05) ? AbortSignal.timeout(random.int(50, 800)) : null,
      patienceMs: PATIENCE_MS,
      body: {
        model: MODEL,
        stream,
        max_tokens: random.int(5, 60),
        messages: [{ role: "user", content: `Tell me about ${random.int(0, 1_000_000)}.` }],
      },
    });
  }
}
