import { privateKeyToAccount } from "viem/accounts";
import { readRegisterConfig } from "../register-workers/config.ts";
import { Registration } from "../register-workers/registration.ts";
import { readText } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";

/** Stake is counted in millionths of an SVC. */
const svc = (units: bigint) => `${Number(units) / 1e6} SVC`;

/** Every worker ever registered: stake, state on chain, and whether its endpoint answers from here. */
export async function listWorkers(operator: Operator): Promise<Output> {
  const { registry } = operator.contracts;
  const count = await operator.client.readContract({ ...registry, functionName: "workerCount" });
  const ids = Array.from({ length: count }, (_, i) => i + 1);
  const list = await Promise.all(
    ids.map(async (id) => {
      const worker = await operator.client.readContract({ ...registry, functionName: "workerAt", args: [id] });
      return {
        id,
        address: worker.signer,
        owner: worker.owner,
        payout: worker.payout,
        stake_svc: Number(worker.stake) / 1e6,
        state: worker.unbondsAt !== 0 ? "unbonding" : worker.active ? "active" : "below minimum stake",
        endpoint: worker.endpoint,
        health: await healthOf(worker.endpoint),
        models: worker.models,
      };
    }),
  );
  const text = list.map(
    (one) =>
      `${one.id}  ${one.address}  ${one.state.padEnd(9)}  ${one.stake_svc} SVC  ${one.health.padEnd(11)}  ${one.endpoint}  models ${one.models.join(",")}`,
  );
  return { text: text.join("\n") || "no workers", json: list };
}

async function healthOf(endpoint: string): Promise<string> {
  try {
    const response = await fetch(`${endpoint.replace(/\/+$/, "")}/healthz`, {
      signal: AbortSignal.timeout(2_000),
      redirect: "error",
    });
    return response.ok ? "healthy" : `HTTP ${response.status}`;
  } catch {
    // Refused, timed out or no such host: what the list is to show.
    return "unreachable";
  }
}

/** Registers the workers of a file (scripts/register-workers.ts), or brings them up to date; owned and staked by the signer. */
export async function registerWorkers(operator: Operator): Promise<Output> {
  const file = readText(operator.flags["workers-file"], "--workers-file");
  const { workers } = readRegisterConfig({ RPC_URL: operator.rpcUrl, DEPLOYMENT_FILE: "-", WORKERS_FILE: file });
  const addresses = workers.map(({ privateKey }) => privateKeyToAccount(privateKey).address);
  const { registry } = operator.contracts;
  const minimum = await operator.client.readContract({ ...registry, functionName: "minimumStake" });
  const plan = workers.map(
    ({ endpoint, models }, i) =>
      `  ${addresses[i]} at ${endpoint}, ${models.join(", ")}, staked up to ${svc(2n * minimum)}`,
  );
  const head = `Register or update ${workers.length} workers of ${operator.signer.account.address}:`;
  const text = [head, ...plan].join("\n");
  if (!operator.sends)
    return { text: `${text}\nNot sent. Repeat with --yes to send it.`, json: { sent: false, workers: addresses } };
  const registration = await Registration.begin(operator.client, operator.signer, operator.deployment);
  for (const worker of workers) await registration.bringUpToDate(worker);
  const transactions = await registration.confirm();
  return {
    text: `${text}\n${transactions} transactions sent and mined.`,
    json: { sent: true, workers: addresses, transactions },
  };
}
