import { SECOND_KEY } from "../../support/second-gateway.ts";
import type { TestStackOptions } from "../../support/stack.ts";

/** Answered at once by a worker, for 8 credits; `PLAYED` is a worker of both models whose key the hostile operator has. */
export const MODEL = "qwen3-8b";
/** 40 credits. */
export const DEAR_MODEL = "llama-3.3-70b-instruct";
export const PLAYED = 1;

/** Seconds in which the charge of a lie can be disputed. The client uses up to half of them: the rest is for a machine that is slow. */
export const DISPUTABLE = { inclusion: 10, dispute: 60 };

/** `SECOND_KEY` signs for its operator, and the hostile operator of the tests has it. */
export const HOSTILE: TestStackOptions = {
  workers: [{ models: [MODEL, DEAR_MODEL] }, { models: [MODEL, DEAR_MODEL], start: false }],
  windows: { completion: 25, ...DISPUTABLE },
  gatewayKeys: [SECOND_KEY],
  env: { api: { BURST_PER_SECOND: "1000000" } },
};
