import type pg from "pg";
import { pino } from "pino";
import { expect } from "vitest";
import type { IncidentCode } from "../../../api/jobs/incident.ts";
import { openDatabase } from "../../../api/store/database.ts";
import { type ApiClient, apiClient, chat, eventually } from "../../support/api-client.ts";
import { type ChainReader, chainReader } from "../../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";
import { event, PlayedWorker, type Script } from "../support/played-worker.ts";

const HONEST = "qwen3-8b";
/** Hosted by the evil worker alone. */
export const EVIL = "qwen3-14b";
/** Hosted by an honest worker as well. */
export const SHARED = "gemma-3-27b-it";
const PATIENCE_MS = 60_000;
export const TEXT = "Every word of this is delivered as it stands.";

/** A service with an honest worker and an evil one, which the tests play. */
export class World {
  api!: ApiClient;
  evil!: PlayedWorker;
  database!: pg.Pool;
  #stack!: TestStack;
  #chain!: ChainReader;

  async open(): Promise<void> {
    this.#stack = await startTestStack({
      workers: [{ models: [HONEST, SHARED] }, { models: [EVIL, SHARED], start: false }],
      windows: { completion: 20, inclusion: 40 },
      // Short rests, so that one played worker can show all its tricks; times that also a busy machine keeps.
      env: { api: { ACKNOWLEDGE_SECONDS: "5", FIRST_TOKEN_SECONDS: "6", MISCONDUCT_REST_SECONDS: "0.0001" } },
    });
    this.api = apiClient(this.#stack);
    this.#chain = chainReader(this.#stack);
    this.evil = await PlayedWorker.start(this.#stack, 2);
    this.database = openDatabase(this.#stack.info.database_url, pino({ level: "silent" }), 1);
  }

  async close(): Promise<void> {
    await this.evil?.stop();
    await this.database?.end();
    await this.#stack?.remove();
  }

  ask(model: string, more: Record<string, unknown> = {}) {
    return this.api.post("/v1/chat/completions", chat(model, "Hello", more));
  }

  /** Acknowledges, sends the text in one piece, ends with what `completed` makes of it. */
  answering(completed: (...offer: Parameters<PlayedWorker["completion"]>) => Promise<unknown>, text = TEXT): Script {
    return async (offer, response) => {
      response.write(await this.evil.acknowledgement(offer));
      response.write(event("delta", { content: text }));
      response.end(event("completed", await completed(offer, text)));
    };
  }

  /** How often the gateway has counted this incident of the evil worker. */
  async counted(code: IncidentCode): Promise<number> {
    const text = await (await fetch(`${this.#stack.info.base_url}/metrics`)).text();
    const worker = this.evil.address;
    const line = new RegExp(`^gateway_worker_failures_total\\{worker="${worker}",code="${code}"\\} (\\d+)$`, "m");
    return Number(line.exec(text)?.[1] ?? 0);
  }

  /** Runs `attack`; afterwards this incident was counted, and is on the worker's page with its job. */
  async incident(code: IncidentCode, attack: () => Promise<string | null>): Promise<void> {
    await this.evil.isOffered(EVIL);
    const before = await this.counted(code);
    const jobId = await attack();
    await eventually(
      () => this.counted(code),
      (count) => count > before,
      PATIENCE_MS,
    );
    await eventually(
      () => this.#shown(),
      (list) => list.some((one) => one.code === code && one.job_id === jobId),
      PATIENCE_MS,
    );
  }

  /** A request that the evil worker spoils: a retryable error, nothing charged. Returns its job. */
  async spoiled(status = 503): Promise<string | null> {
    // What an earlier request locked must have come to its end.
    const before = await eventually(
      () => this.#account(),
      ({ escrowed }) => escrowed === 0,
      PATIENCE_MS,
    );
    const reply = await this.ask(EVIL);
    expect(reply.status).toBe(status);
    await eventually(
      () => this.#account(),
      ({ free, escrowed }) => free === before.free && escrowed === before.escrowed,
      PATIENCE_MS,
    );
    const jobId = reply.headers.get("x-service-job-id");
    expect((await this.api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({ credits_charged: 0 });
    return jobId;
  }

  async #account() {
    const { free, escrowed } = await this.#chain.account(this.#stack.info.demo?.wallet as string);
    return { free, escrowed };
  }

  /** What the application shows of the evil worker to everybody. */
  async #shown(): Promise<{ code: string; severity: string; job_id: string | null }[]> {
    const page = await fetch(`${this.#stack.info.base_url}/app/api/workers`);
    // biome-ignore lint/suspicious/noExplicitAny: the page's own data, whose shape its types hold
    const { data } = (await page.json()) as any;
    return data.find(({ address }: { address: string }) => address === this.evil.address)?.incidents ?? [];
  }
}
