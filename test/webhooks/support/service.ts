import { afterAll } from "vitest";
import { openStore } from "../../support/client.ts";
import { Receiver } from "../../support/receiver.ts";
import { sharedStack } from "../../support/shared-stack.ts";

/** What a test file has: the shared stack `service`, its database, and an endpoint that keeps all it gets. */
export async function openService() {
  const stack = await sharedStack("service");
  const pool = openStore(stack);
  const receiver = await Receiver.open();
  afterAll(async () => {
    receiver.close();
    await pool.end();
  });
  return { stack, pool, receiver };
}
