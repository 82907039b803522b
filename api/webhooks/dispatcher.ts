import type pg from "pg";
import type { Logger } from "pino";
import type { Dispatcher as HttpDispatcher } from "undici";
import type { Cipher } from "../store/cipher.ts";
import { attempt, type Outcome } from "./attempt.ts";
import { type Claimed, claimDue } from "./claim.ts";
import { Loop } from "./loop.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { type Finished, recordResults } from "./results.ts";

export type DispatchSettings = {
  /** Attempts of this process at once. */
  concurrency: number;
  /** Of them to one webhook. */
  perWebhook: number;
  /** Limit of an answer (specification: 10 s). */
  timeoutMs: number;
  /** From each failed attempt to the next one; after the last the webhook fails. */
  delaysMs: readonly number[];
};

/** A webhook that does not answer gets no more than this many attempts at once: each of them holds a place for 10 s. */
const SILENT_CONCURRENCY = 2;
/** Retries come due without a word; this is how soon they are seen. */
const POLL_MS = 500;
const RETRY_RECORD_MS = 500;

/**
 * Sends what is due. Deliveries are claimed in the database, so any number of gateways can do this at once; each attempt runs on its
 * own, so one endpoint's silence holds up nobody else. Results are written together, as many as have come in meanwhile.
 */
export class DeliveryDispatcher {
  readonly #pool: pg.Pool;
  readonly #cipher: Cipher;
  readonly #http: HttpDispatcher;
  readonly #settings: DispatchSettings;
  readonly #metrics: WebhookMetrics;
  readonly #logger: Logger;
  readonly #claims = new Loop(() => this.#claim(), POLL_MS);
  readonly #running = new Map<string, number>();
  readonly #silent = new Set<string>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #total = 0;
  #finished: Finished[] = [];
  #recording: Promise<void> | null = null;

  constructor(
    pool: pg.Pool,
    cipher: Cipher,
    http: HttpDispatcher,
    settings: DispatchSettings,
    metrics: WebhookMetrics,
    logger: Logger,
  ) {
    this.#pool = pool;
    this.#cipher = cipher;
    this.#http = http;
    this.#settings = settings;
    this.#metrics = metrics;
    this.#logger = logger;
  }

  start(): void {
    this.#claims.start();
  }

  /** Something is due: look now. */
  wake(): void {
    this.#claims.wake();
  }

  /** Claims nothing more and lets running attempts end, at most `timeoutMs`. What is cut then is attempted again by the next gateway. */
  async stop(timeoutMs: number): Promise<void> {
    await this.#claims.stop();
    const timer = setTimeout(() => this.#abort.abort(new Error("the gateway stops")), timeoutMs);
    await Promise.all(this.#attempts);
    clearTimeout(timer);
    await this.#recording;
  }

  async #claim(): Promise<void> {
    const { concurrency, perWebhook } = this.#settings;
    const total = concurrency - this.#total;
    if (total <= 0) return; // a finished attempt wakes the loop
    const busy = new Map([...this.#silent].map((id) => [id, { free: SILENT_CONCURRENCY, running: 0 }]));
    for (const [id, running] of this.#running) {
      busy.set(id, { free: Math.max(0, (busy.get(id)?.free ?? perWebhook) - running), running });
    }
    try {
      const claimed = await claimDue(this.#pool, { total, perWebhook, busy });
      for (const delivery of claimed) this.#begin(delivery);
    } catch (error) {
      this.#logger.warn({ err: error }, "deliveries cannot be claimed; the next round tries again");
    }
  }

  #begin(claimed: Claimed): void {
    const { webhookId } = claimed;
    this.#total += 1;
    this.#running.set(webhookId, (this.#running.get(webhookId) ?? 0) + 1);
    this.#metrics.running.set(this.#total);
    const over = this.#attempt(claimed)
      .then((outcome) => {
        if (outcome === null) return;
        this.#finished.push({ claimed, outcome });
        // The place is free when the result is written: whatever is out of it can be claimed again without a doubt.
        return this.#record();
      })
      .finally(() => {
        this.#total -= 1;
        const left = (this.#running.get(webhookId) ?? 1) - 1;
        if (left === 0) this.#running.delete(webhookId);
        else this.#running.set(webhookId, left);
        this.#metrics.running.set(this.#total);
        this.#attempts.delete(over);
        this.#claims.wake();
      });
    this.#attempts.add(over);
  }

  /** One attempt; null if it was cut by the stop, and so says nothing of the endpoint. */
  async #attempt(claimed: Claimed): Promise<Outcome | null> {
    const { webhookId, url, body } = claimed;
    let outcome: Outcome;
    try {
      const secret = this.#cipher.decrypt(claimed.secret, webhookId);
      outcome = await attempt({ url, secret, body }, this.#http, this.#settings.timeoutMs, this.#abort.signal);
    } catch (error) {
      // Cut by the stop, or a secret of another master key. The lease runs out and the delivery is attempted again: nothing is lost.
      this.#logger.error({ err: error, delivery: claimed.id, webhook: webhookId }, "an attempt could not be made");
      return null;
    }
    if (outcome.result === "timeout") this.#silent.add(webhookId);
    else this.#silent.delete(webhookId);
    this.#metrics.attempts.inc({ result: outcome.result });
    this.#metrics.seconds.observe(outcome.durationMs / 1000);
    this.#logger[outcome.delivered ? "debug" : "info"](
      {
        webhook: webhookId,
        delivery: claimed.id,
        eventId: claimed.eventId,
        event: claimed.event,
        attempt: claimed.attempt,
        // Without path and query: they may hold what the owner takes for a secret.
        host: new URL(url).host,
        status: outcome.status,
        ms: outcome.durationMs,
        error: outcome.error,
      },
      outcome.delivered ? "webhook delivered" : "webhook attempt failed",
    );
    return outcome;
  }

  /** Writes the results there are; those that come in meanwhile are written together after them. */
  async #record(): Promise<void> {
    while (this.#recording !== null) await this.#recording;
    if (this.#finished.length === 0) return; // another one's batch took it along
    const batch = this.#finished;
    this.#finished = [];
    this.#recording = this.#write(batch).finally(() => {
      this.#recording = null;
    });
    await this.#recording;
  }

  async #write(batch: Finished[]): Promise<void> {
    for (;;) {
      try {
        const failed = await recordResults(this.#pool, batch, this.#settings.delaysMs);
        for (const webhook of failed) {
          this.#metrics.failedWebhooks.inc();
          this.#logger.warn({ webhook }, "webhook marked failed: a delivery failed for the last time");
        }
        return;
      } catch (error) {
        this.#logger.warn({ err: error, results: batch.length }, "results of attempts cannot be written yet");
        if (this.#abort.signal.aborted) return; // their leases run out, and they are attempted again
        await new Promise((resolve) => setTimeout(resolve, RETRY_RECORD_MS));
      }
    }
  }
}
