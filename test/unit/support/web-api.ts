import express from "express";
import { pino } from "pino";
import { errorHandler } from "../../../api/routes/errors.ts";
import { Bodies } from "../../../api/routes/json-body.ts";
import { webApp } from "../../../web/server/app.ts";
import { serve } from "./serve.ts";

const CONFIG = {
  APP_URL: "http://127.0.0.1/app",
  BURST_PER_SECOND: 300,
  MASTER_KEY: "44".repeat(32),
  OTHER_MASTER_KEYS: [],
};

/** The web application's API on a database that answers each statement by its name; `parts` replace or add to the gateway's. */
export async function serveWebApi(answer: (statement: string) => unknown[], parts: object = {}): Promise<string> {
  const gateway = {
    config: { ...CONFIG, deployment: { chainId: 1, contracts: { InferenceEscrow: `0x${"e5".repeat(20)}` } } },
    pool: { query: async ({ name }: { name: string }) => ({ rows: answer(name) }) },
    operator: { id: 1 },
    bodies: new Bodies(),
    webhooks: { context: {} },
    times: {},
    workers: { hosts: () => [], states: () => [] },
    ...parts,
  };
  const app = express()
    .use(webApp(gateway as never))
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  return `${await serve(app)}/app/api`;
}
