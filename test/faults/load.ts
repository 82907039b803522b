import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../support/client.ts";
import type { Random } from "../support/random.ts";
import { ask, type RecordedRequest } from "../support/recorded-request.ts";
import { type Judged, MODEL } from "./world.ts";

/** No client waits longer than this for anything: a hang shows as such. */
const PATIENCE_MS = 90_000;

/** A request with an `Idempotency-Key` is sent again until it is answered, at most so often. */
const KEY_TRIES = 100;

/** `rate`: requests a second of all clients; without it each sends the next one when its last has ended. */
type Pace = {
  concurrency: number;
  rate?: number | undefined;
  /** True if no client leaves: each request that is not answered has failed. */
  patient?: boolean;
};

/** The one client that leaves some requests: it pays for answers that it did not wait for. No other ever leaves. */
export const leaverOf = (world: Judged): Client => world.clients[0] as Client;

/** Clients that send one request after the other until told to stop; every answer is kept. */
export class Load {
  readonly requests: RecordedRequest[] = [];
  readonly #world: Judged;
  readonly #clients: Promise<void>[];
  readonly #intervalMs: number;
  readonly #patient: boolean;
  /** When the next request is due. */
  #due = Date.now();
  #stopping = false;

  constructor(world: Judged, random: Random, { concurrency, rate, patient = false }: Pace) {
    this.#world = world;
    this.#intervalMs = rate === undefined ? 0 : 1000 / rate;
    this.#patient = patient;
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
      await this.#turn();
      const stream = random.chance(0.5);
      const leaves = !this.#patient && client === leaverOf(this.#world) && random.chance(0.2);
      const question = {
        apiKey: client.apiKey,
        idempotencyKey: random.chance(0.2) ? randomUUID() : null,
        patienceMs: PATIENCE_MS,
        body: {
          model: MODEL,
          stream,
          max_tokens: random.int(5, 60),
          messages: [{ role: "user", content: `Tell me about ${random.int(0, 1_000_000)}.` }],
        },
      };
      for (let tries = 0; tries < (question.idempotencyKey === null ? 1 : KEY_TRIES); tries++) {
        const gateway = random.pick(this.#world.gateways);
        const left = leaves && tries === 0 ? AbortSignal.timeout(random.int(50, 800)) : null;
        const request = await ask({ ...question, gateway, leaves: left });
        this.requests.push(request);
        if (request.outcome === "answered") break;
        // Whoever is refused waits a moment, as clients do.
        await sleep(random.int(100, 400));
      }
    }
  }

  /** Waits until the next request is due. What the clients could not send while all of them waited is not made up for. */
  async #turn(): Promise<void> {
    const now = Date.now();
    this.#due = Math.max(this.#due + this.#intervalMs, now);
    if (this.#due > now) await sleep(this.#due - now);
  }
}
