/** A dispute asked of a gateway whose key was removed: no worker is accused of it, and the dispute is not lost. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { PARTS } from "../../scripts/dev/stack.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { runOperator } from "../../scripts/operator.ts";
import { apiClient } from "../support/api-client.ts";
import { Scene } from "../support/dispute-scene.ts";
import { giveGas } from "../support/gas.ts";
import { SECOND_ADDRESS, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const MODEL = "qwen3-8b";
let stack: TestStack;
let removed: SecondGateway;
let scene: Scene;

beforeAll(async () => {
  stack = await startTestStack({
    parts: PARTS.filter((part) => part !== "indexer"),
    workers: [{ models: [MODEL] }],
    gatewayKeys: [SECOND_KEY],
  });
  await giveGas(stack, SECOND_ADDRESS, "10");
  removed = new SecondGateway(stack);
  await removed.start();
  scene = await Scene.open(stack);
});
afterAll(async () => {
  await scene?.close();
  await removed?.kill();
  await stack?.remove();
});

it("is told to come again, or of the dispute that another gateway opened for it, not that its worker was convicted", async () => {
  const { id } = await scene.settledJob(MODEL);
  const { rpc_url: RPC_URL } = stack.info;
  const env = { RPC_URL, DEPLOYMENT_FILE: stack.deploymentFile, OPERATOR_PRIVATE_KEY: OPERATOR_ADMIN.privateKey };
  await runOperator(["signers", "rotate", String(OPERATOR), "--remove", SECOND_ADDRESS, "--yes"], env);
  const through = apiClient({ ...stack, info: { ...stack.info, base_url: removed.url } }, scene.client.apiKey);
  const { status, body } = await scene.dispute(id, undefined, through);
  // A gateway that learns late of the removal refuses; from one that has given its signer up the other takes the request over.
  if (status === 503) expect(body.error).toMatchObject({ code: "service_unavailable" });
  const opened = status === 503 ? (await scene.dispute(id)).body : body;
  expect(opened).toMatchObject({ dispute_opened: true });
});
