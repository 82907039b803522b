import { afterAll } from "vitest";
import { type ApiClient, eventually } from "../../support/api-client.ts";
import { Client, openStore } from "../../support/client.ts";
import { Receiver } from "../../support/receiver.ts";
import { sharedStack } from "../../support/shared-fixtures.ts";

/** What a test file has: the shared stack `service`, its database, and a client of the file's own with these credits. */
export async function openService(credits = 1_000) {
  const stack = await sharedStack("service");
  const pool = openStore(stack);
  afterAll(() => pool.end());
  return { stack, pool, client: await Client.funded(stack, pool, credits) };
}

/** What a test file of webhooks has: the shared stack, its database, and an endpoint that keeps all it gets. */
export async function openWebhooks() {
  const stack = await sharedStack("service");
  const pool = openStore(stack);
  const receiver = await Receiver.open();
  afterAll(async () => {
    receiver.close();
    await pool.end();
  });
  return { stack, pool, receiver };
}

/** The job, once it is settled. */
export async function settled(api: ApiClient, id: string | null) {
  const job = await eventually(
    () => api.get(`/v1/jobs/${id}`),
    ({ body }) => body.status === "settled",
  );
  return job.body;
}
