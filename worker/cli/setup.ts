/** The first start: what makes a worker ready to be given jobs, agreed to by its operator. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Hex, isAddressEqual } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { DEV_CHAIN_ID } from "../../protocol/deployment.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../protocol/messages.ts";
import type { Chain } from "../chain.ts";
import { type Config, SETTINGS } from "../config.ts";
import { COMMAND, ConfigError, type Terminal } from "../console.ts";
import {
  ensureFunds,
  missingStake,
  modelNumbers,
  type RegistrationState,
  readRegistration,
  registrationSteps,
  sendSteps,
  svc,
  UNITS_PER_SVC,
  type Wanted,
} from "../registration.ts";
import { listServed } from "./local.ts";

type Parts = {
  config: Config;
  chain: Chain;
  privateKey: Hex;
  /** Why the backend cannot serve the models now; null if it can. */
  modelsFault: string | null;
  terminal: Terminal;
  yes: boolean;
};

/**
 * Checks that catalog and model server have the models, and brings registration and stake on chain to what is configured.
 * Sends nothing that was not agreed to, and nothing at all if everything stands as it should.
 */
export async function setUp({ config, chain, privateKey, modelsFault, terminal, yes }: Parts): Promise<void> {
  const signer = privateKeyToAccount(privateKey);
  const ownerKey = config.ownerKey ?? privateKey;
  const owner = privateKeyToAccount(ownerKey).address;
  let state = await readRegistration(chain, signer.address, owner);
  if (await listServed(chain, config, state.catalog, terminal)) {
    state = await readRegistration(chain, signer.address, owner);
  }
  const models = [...config.models.keys()];
  modelNumbers(state.catalog, models);
  // A registered worker may be started before its model server: it only warns.
  if (state.worker === null && modelsFault !== null) throw new ConfigError(modelsFault);

  const { chainId, contracts } = chain.deployment;
  const wanted: Wanted = {
    endpoint: await endpointOf(config, state, chainId, terminal),
    models,
    payout: config.payout ?? state.worker?.payout ?? owner,
    stake: stakeOf(config, state),
    unbonding: "leave",
  };
  const domain = registryDomain(chainId, contracts.WorkerRegistry);
  const consent = { domain, types: enrollmentTypes, primaryType: "Enrollment", message: { owner } } as const;
  const enrollment = compactSignature(await signer.signTypedData(consent));
  const steps = registrationSteps(chain.deployment, state, wanted, enrollment);
  if (state.worker !== null && state.worker.unbondsAt !== 0) {
    // It may still have answers that nobody has settled: it must be able to look after its pay.
    terminal.say(
      "Note: this worker is unbonding. It gets no new jobs and looks after its unsettled answers; " +
        `\`${COMMAND} unbond --cancel\` takes that back.`,
    );
  }
  if (steps.length === 0) return;
  const differs = steps.map(({ what }) => what).join("; ");
  if (state.worker !== null && !isAddressEqual(state.worker.owner, owner)) {
    const { owner: other } = state.worker;
    terminal.say(
      `Note: not as configured on chain: ${differs}. Its owner ${other} can send that, ` +
        "in the service's web application or with WORKER_OWNER_PRIVATE_KEY.",
    );
    return;
  }
  if (state.worker !== null && !yes && !terminal.interactive) {
    // Unattended restarts must come up: what is registered can serve, and has pay to look after.
    terminal.say(`Note: not as configured on chain, and nothing was sent: ${differs}. Start with --yes to send it.`);
    return;
  }
  terminal.say(`To be sent by ${owner}:\n${steps.map(({ what }) => `  - ${what}`).join("\n")}`);
  if (!(await terminal.confirm("Send that?", yes))) {
    throw new ConfigError("nothing was sent; the worker does not start");
  }
  await ensureFunds(chain, { owner, stake: missingStake(state, wanted), steps: steps.length }, terminal);
  await sendSteps(chain, ownerKey, steps, terminal);
}

/** Keeps the settings of a first start, so that the next one needs no flags. Secrets are not among them. */
export async function saveSettings(dataDir: string, values: Record<string, string>, terminal: Terminal): Promise<void> {
  const kept = SETTINGS.flatMap(({ env, flag }): [string, string][] => {
    const value = values[env];
    return flag === null || value === undefined || env === "WORKER_DATA_DIR" ? [] : [[flag, value]];
  });
  const file = join(dataDir, "config.json");
  try {
    await writeFile(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`, { flag: "wx", mode: 0o600 });
    terminal.say(`Kept the settings in ${file}: from now on \`${COMMAND}\` is enough.`);
  } catch (error) {
    // A file that is there already is the operator's own.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

async function endpointOf(
  { endpoint: given, port }: Config,
  { worker }: RegistrationState,
  chainId: number,
  terminal: Terminal,
): Promise<string> {
  const development = chainId === DEV_CHAIN_ID;
  const known = given ?? (development ? `http://127.0.0.1:${port}` : (worker?.endpoint ?? null));
  const endpoint = known ?? (await terminal.ask("Public URL of this worker (https://…):", "--endpoint URL"));
  if (!URL.canParse(endpoint)) throw new ConfigError(`${endpoint} is not a URL: use --endpoint https://your-host`);
  if (!development && new URL(endpoint).protocol !== "https:") {
    throw new ConfigError(
      `gateways ask only https endpoints, not ${endpoint}: put a TLS proxy before port ${port} and name it with --endpoint`,
    );
  }
  return endpoint;
}

function stakeOf({ stake: given }: Config, { minimumStake, worker }: RegistrationState): bigint {
  if (given === null) return worker === null ? minimumStake * 2n : minimumStake;
  const stake = BigInt(Math.round(given * UNITS_PER_SVC));
  if (stake < minimumStake) {
    throw new ConfigError(`--stake ${given} is below the minimum of ${svc(minimumStake)}: no job would come`);
  }
  return stake;
}
