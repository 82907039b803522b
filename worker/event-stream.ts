import type { Response } from "express";
import type { Hex } from "viem";
import type { z } from "zod";
import type { acknowledgedEvent, completedEvent, deltaEvent, errorEvent } from "../protocol/dispatch.ts";

type Events = {
  acknowledged: z.infer<typeof acknowledgedEvent>;
  delta: z.infer<typeof deltaEvent>;
  completed: z.infer<typeof completedEvent>;
  error: z.infer<typeof errorEvent>;
};

const SILENCE_MS = 10_000;

/**
 * The answer to a dispatch as server-sent events. Headers go out with the first event, so that a refusal can still be a plain
 * JSON error. A gateway that left, or reads slowly, stops nothing: what it does not take is dropped or waits in memory,
 * and no answer is larger than what the worker holds anyway.
 */
export class EventStream {
  readonly #res: Response;
  readonly #left = new AbortController();
  #silence: NodeJS.Timeout | undefined;

  constructor(res: Response) {
    this.#res = res;
    res.on("close", () => {
      clearInterval(this.#silence);
      if (!res.writableFinished) this.#left.abort();
    });
  }

  /** Aborted when the gateway closes the connection early. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Whether a refusal is still possible. */
  get untouched(): boolean {
    return !this.#res.headersSent;
  }

  acknowledged(signature: Hex): void {
    this.#send("acknowledged", { signature });
    this.#silence = setInterval(() => this.#write(": still working\n\n"), SILENCE_MS);
  }

  delta(content: string): void {
    this.#send("delta", { content });
    this.#silence?.refresh();
  }

  completed(event: Events["completed"]): void {
    this.#send("completed", event);
    this.#end();
  }

  error(code: string, message: string): void {
    this.#send("error", { code, message });
    this.#end();
  }

  #send<N extends keyof Events>(name: N, data: Events[N]): void {
    if (this.untouched && !this.#left.signal.aborted) {
      this.#res.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
    }
    this.#write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #write(text: string): void {
    if (!this.#left.signal.aborted && !this.#res.writableEnded) this.#res.write(text);
  }

  #end(): void {
    clearInterval(this.#silence);
    if (!this.#left.signal.aborted) this.#res.end();
  }
}
