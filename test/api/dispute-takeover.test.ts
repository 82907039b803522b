/** A dispute request whose gateway died: another gateway of the operator opens it while the contract still takes it. */
import { afterAll, expect, it } from "vitest";
import { eventually } from "../support/api-client.ts";
import { OTHER, Scene } from "../support/dispute-scene.ts";
import { MODEL } from "../support/service-stack.ts";
import { sharedStack } from "../support/shared-fixtures.ts";

const stack = await sharedStack("service");
const scene = await Scene.open(stack);
afterAll(() => scene.close());

/** A signer of the operator that no process uses. */
const DEAD = `0x${"dd".repeat(20)}`;

it("recorded by a killed gateway is opened by the one that the client asks next", async () => {
  const { id } = await scene.settledJob(MODEL);
  // What the killed gateway has left.
  await scene.pool.query(
    `INSERT INTO dispute_request (job_id, received_hash, wallet, gateway, arrived_at)
     SELECT job_id, $2, wallet, $3, now() FROM job WHERE job_id = $1`,
    [id, `0x${OTHER.slice(7)}`, DEAD],
  );
  // The client does what it is told: it sends the request again.
  const answers: unknown[] = [];
  await eventually(
    async () => {
      const { status, body } = await scene.dispute(id);
      answers.push([status, body.error?.code ?? body.dispute_opened]);
      return status;
    },
    (status) => status !== 503,
    240_000,
  );
  expect(answers.at(-1)).toEqual([200, true]);
  expect(answers).toEqual([[200, true]]);
});
