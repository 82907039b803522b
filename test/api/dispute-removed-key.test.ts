/** A dispute asked of a gateway whose key was removed: no worker is accused of it, and the dispute is not lost. */
import { privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runOperator } from "../../operator/main.ts";
import { OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { apiClient } from "../support/api-client.ts";
import { Scene } from "../support/dispute-scene.ts";
import { giveGas } from "../support/gas.ts";
import { REMOVED_KEY, SecondGateway } from "../support/second-gateway.ts";
import { MODEL } from "../support/service-stack.ts";
import { sharedStack } from "../support/shared-fixtures.ts";

const stack = await sharedStack("service");
const scene = await Scene.open(stack);
const address = privateKeyToAddress(REMOVED_KEY);
const removed = new SecondGateway(stack, { GATEWAY_PRIVATE_KEY: REMOVED_KEY });
beforeAll(async () => {
  await giveGas(stack, address, "10");
  await removed.start();
});
afterAll(async () => {
  await scene.close();
  await removed.kill();
});

it("is told to retry, or of the other gateway's dispute, never of a conviction", async () => {
  const { id } = await scene.settledJob(MODEL);
  const { rpc_url: RPC_URL } = stack.info;
  const env = { RPC_URL, DEPLOYMENT_FILE: stack.deploymentFile, OPERATOR_PRIVATE_KEY: OPERATOR_ADMIN.privateKey };
  await runOperator(["signers", "rotate", String(OPERATOR), "--remove", address, "--yes"], env);
  const through = apiClient({ ...stack, info: { ...stack.info, base_url: removed.url } }, scene.client.apiKey);
  const { status, body } = await scene.dispute(id, undefined, through);
  // A gateway that learns late of the removal refuses; from one that has given its signer up the other takes the request over.
  if (status === 503) expect(body.error).toMatchObject({ code: "service_unavailable" });
  const opened = status === 503 ? (await scene.dispute(id)).body : body;
  expect(opened).toMatchObject({ dispute_opened: true });
});
