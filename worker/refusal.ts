import type { Response } from "express";
import { RefusalCode } from "../protocol/dispatch.ts";

type Code = (typeof RefusalCode)[keyof typeof RefusalCode];

const STATUS: Record<Code, number> = {
  [RefusalCode.BadRequest]: 400,
  [RefusalCode.NotAssigned]: 403,
  [RefusalCode.UnknownModel]: 404,
  [RefusalCode.NoOutput]: 404,
  [RefusalCode.NotLocked]: 409,
  [RefusalCode.AlreadyTaken]: 409,
  [RefusalCode.NotFinished]: 409,
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
    super(message, options);
    this.code = code;
  }

  /** Answers a request with it. */
  send(res: Response): void {
    res.status(STATUS[this.code]).json({ error: { code: this.code, message: this.message } });
  }
}
