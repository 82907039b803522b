import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readStream } from "../support/api-client.ts";
import type { Client } from "../support/client.ts";
import type { Random } from "./random.ts";
import { MODEL, type World } from "./world.ts";

/** What one client saw of one request. */
export type Request = {
  wallet: string;
  jobId: string | null;
  /** `answered`: a complete answer arrived. `refused`: an error of ours. `broken`: the connection broke, or its client left. */
  outcome: "answered" | "refused" | "broken";
  status: number;
  code: string | null;
  text: string;
  idempotencyKey: string | null;
};

/** No client waits longer than this for anything: a hang shows as such. */
const PATIENCE_MS = 90_000;

/** Clients that send one request after the other until told to stop; every answer is kept. */
export class Load {
  readonly requests: Request[] = [];
  hangs = 0;
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

  async #ask(client: Client, gateway: string, random: Random): Promise<Request> {
    const stream = random.chance(0.5);
    const idempotencyKey = random.chance(0.2) ? randomUUID() : null;
    const leaves = random.chance(0.05) ? AbortSignal.timeout(random.int(50, 800)) : null;
    const patience = AbortSignal.timeout(PATIENCE_MS);
    const seen: Request = {
      wallet: client.account.address.toLowerCase(),
      jobId: null,
      outcome: "broken",
      status: 0,
      code: null,
      text: "",
      idempotencyKey,
    };
    try {
      const response = await fetch(`${gateway}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${client.apiKey}`,
          "content-type": "application/json",
          ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
        },
        body: JSON.stringify({
          model: MODEL,
          stream,
          max_tokens: random.int(5, 60),
          messages: [{ role: "user", content: `Tell me about ${random.int(0, 1_000_000)}.` }],
        }),
        signal: leaves === null ? patience : AbortSignal.any([patience, leaves]),
      });
      seen.status = response.status;
      seen.jobId = response.headers.get("x-service-job-id");
      if (response.status !== 200) await readError(response, seen);
      else if (stream) await readEvents(response, seen);
      else {
        // biome-ignore lint/suspicious/noExplicitAny: the completion object, whose shape other tests hold
        const body = (await response.json()) as any;
        seen.text = body.choices[0].message.content;
        seen.outcome = "answered";
      }
    } catch {
      // A broken connection is an outcome too; the verdict says whether its money is right.
      if (patience.aborted) this.hangs += 1;
    }
    return seen;
  }
}

async function readError(response: Response, seen: Request): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: the error body, whose shape other tests hold
  const { error } = (await response.json()) as any;
  seen.code = error.code;
  seen.jobId ??= error.details?.job_id ?? null;
  seen.outcome = "refused";
}

async function readEvents(response: Response, seen: Request): Promise<void> {
  const events = await readStream(response);
  const last = events.at(-1);
  for (const event of events.filter((data) => data !== "[DONE]")) {
    // biome-ignore lint/suspicious/noExplicitAny: chunks and error events, whose shapes other tests hold
    const data = JSON.parse(event) as any;
    if (data.error) {
      seen.code = data.error.code;
      seen.outcome = "refused";
      return;
    }
    seen.text += data.choices[0]?.delta?.content ?? "";
  }
  if (last === "[DONE]") seen.outcome = "answered";
}
