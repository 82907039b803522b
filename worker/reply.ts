/** Replies to a gateway: a refusal as plain JSON, or the event stream of a job. protocol/dispatch.ts describes both. */
import type { Response } from "express";
import type { Hex } from "viem";
import type { z } from "zod";
import { type completedEvent, MOST_WORDS, RefusalCode } from "../protocol/dispatch.ts";

type Code = (typeof RefusalCode)[keyof typeof RefusalCode];

const STATUS: Record<Code, number> = {
  [RefusalCode.BadRequest]: 400,
  [RefusalCode.NotAssigned]: 403,
  [RefusalCode.UnknownModel]: 404,
  [RefusalCode.NoOutput]: 404,
  [RefusalCode.NotLocked]: 409,
  [RefusalCode.AlreadyTaken]: 409,
  [RefusalCode.NotRunning]: 409,
  [RefusalCode.NotFinished]: 409,
  [RefusalCode.RequestRefused]: 400,
  [RefusalCode.ContextExceeded]: 400,
  [RefusalCode.BackendFailed]: 502,
  [RefusalCode.Busy]: 503,
  [RefusalCode.Draining]: 503,
  [RefusalCode.ChainUnavailable]: 503,
};

/** The worker does not take the job: nothing was signed, nothing was sent. The message is for the gateway's operator. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message.slice(0, MOST_WORDS), options);
    this.code = code;
  }

  /** Answers a request with it. */
  send(res: Response): void {
    res.status(STATUS[this.code]).json({ error: { code: this.code, message: this.message } });
  }
}

/** An event of the stream while the model is at work. */
export type PieceKind = "begun" | "delta" | "reasoning";

const SILENCE_MS = 10_000;

/**
 * The answer to a dispatch as server-sent events. Headers go out with the first event, so that a refusal can still be plain JSON.
 * A gateway that left, or reads slowly, stops nothing: events are dropped or wait in memory, which holds the answer anyway.
 */
export class EventStream {
  readonly #res: Response;
  readonly #left = new AbortController();
  /** Fills the silence of a job that was taken. */
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(res: Response) {
    this.#res = res;
    res.on("close", () => {
      clearInterval(this.#heartbeat);
      if (!res.writableFinished) this.#left.abort();
    });
  }

  /** Aborted when the gateway closes the connection early. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  acknowledged(signature: Hex): void {
    this.#send("acknowledged", { signature });
    this.#heartbeat = setInterval(() => this.#write(": still working\n\n"), SILENCE_MS);
  }

  /** A piece of the answer, or of what the model reasons beside it; `begun` says that the model is at work, and its text is held back. */
  piece(kind: PieceKind, content: string): void {
    this.#send(kind, kind === "begun" ? {} : { content });
    this.#heartbeat?.refresh();
  }

  completed(event: z.infer<typeof completedEvent>): void {
    this.#send("completed", event);
    this.#end();
  }

  error(code: string, message: string): void {
    this.#send("error", { code, message: message.slice(0, MOST_WORDS) });
    this.#end();
  }

  #send(name: string, data: unknown): void {
    if (!this.#res.headersSent && !this.#left.signal.aborted) {
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
    clearInterval(this.#heartbeat);
    if (!this.#left.signal.aborted) this.#res.end();
  }
}
