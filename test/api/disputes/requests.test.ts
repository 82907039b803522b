/** `POST /v1/jobs/{job_id}/dispute`: what is compared, what is too late, what is not a client's to dispute. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestStack } from "../../support/stack.ts";
import { comparison } from "./requests/comparison.ts";
import { refusals } from "./requests/refusals.ts";
import { unsettled } from "./requests/unsettled.ts";
import { DISPUTE_WAIT_MS, WORKERS } from "./requests/workers.ts";
import { Scene } from "./support.ts";

let scene: Scene;

beforeAll(async () => {
  const env = { api: { DISPUTE_WAIT_SECONDS: String(DISPUTE_WAIT_MS / 1_000) } };
  scene = new Scene(await startTestStack({ windows: { completion: 20 }, env, workers: WORKERS }));
});
afterAll(() => scene?.close());

const given = () => scene;
comparison(given);
unsettled(given);
refusals(given);

it("outcomes are counted for the operator", async () => {
  const text = await (await fetch(`${scene.stack.info.base_url}/metrics`)).text();
  for (const outcome of ["opened", "equal", "expired", "not_settled", "already_open", "not_charged", "too_many"])
    expect(text).toMatch(new RegExp(`gateway_disputes_total\\{outcome="${outcome}"\\} [1-9]`));
});
