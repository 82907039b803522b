/**
 * Registers workers on chain, or brings their registration up to date; running it again changes nothing.
 *
 * RPC_URL            node
 * DEPLOYMENT_FILE    deployment (protocol/deployment.ts)
 * WORKERS_FILE       JSON list of {privateKey, endpoint, models: [catalog ids], payout?: address}
 * OWNER_PRIVATE_KEY  owns the workers and pays their stake in SVC; on chain id 31337 the development account by default
 *
 * Each worker's own key signs its enrollment, so nobody can register another's. The stake is filled up to twice the minimum.
 */
import { readFileSync } from "node:fs";
import { createPublicClient, createWalletClient, defineChain } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { parseDeployment } from "../protocol/deployment.ts";
import { nodeTransport } from "../shared/node-url.ts";
import { redactOutput, redactor, secretsOfUrl } from "../shared/redact.ts";
import { ConfigError } from "../worker/console.ts";
import { readRegisterConfig } from "./register-workers/config.ts";
import { Registration } from "./register-workers/registration.ts";

async function main(): Promise<void> {
  const started = performance.now();
  const config = readRegisterConfig(process.env);
  redactOutput(redactor(secretsOfUrl(config.rpcUrl, "RPC_URL")));
  const deployment = parseDeployment(readFileSync(config.deploymentFile, "utf8"), config.deploymentFile);
  const chain = defineChain({
    id: deployment.chainId,
    name: `chain ${deployment.chainId}`,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [config.rpcUrl] } },
  });
  const transport = nodeTransport(config.rpcUrl, { batch: { wait: 0, batchSize: 100 } });
  const account = privateKeyToAccount(config.ownerKey(deployment.chainId));
  const reader = createPublicClient({ chain, transport, pollingInterval: 100 });
  const wallet = createWalletClient({ chain, transport, account });

  const registration = await Registration.begin(reader, wallet, deployment);
  for (const worker of config.workers) await registration.bringUpToDate(worker);
  const sent = await registration.confirm();
  const ms = Math.round(performance.now() - started);
  console.log(`register-workers: ${config.workers.length} workers up to date, ${sent} transactions, ${ms} ms`);
}

try {
  await main();
} catch (error) {
  console.error(
    `register-workers: ${error instanceof ConfigError ? error.message : error instanceof Error ? (error.stack ?? error.message) : error}`,
  );
  process.exitCode = 1;
}
