import { afterAll } from "vitest";
import { type ApiClient, eventually } from "../../support/api-client.ts";
import { Client, openStore } from "../../support/client.ts";
import { sharedStack } from "../../support/shared-stack.ts";

/** What a test file has: the shared stack `service`, its database, and a client of the file's own with these credits. */
export async function openService(credits = 1_000) {
  const stack = await sharedStack("service");
  const pool = openStore(stack);
  afterAll(() => pool.end());
  return { stack, pool, client: await Client.funded(stack, pool, credits) };
}

/** The job, once it is settled. */
export async function settled(api: ApiClient, id: string | null) {
  const job = await eventually(
    () => api.get(`/v1/jobs/${id}`),
    ({ body }) => body.status === "settled",
  );
  return job.body;
}
