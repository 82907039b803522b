import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../protocol/messages.ts";
import { withoutLogin } from "../../protocol/redact.ts";
import { type Backend, BackendError } from "../backends/backend.ts";
import { unserved } from "../backends/create.ts";
import type { Chain } from "../chain/connect.ts";
import type { Config } from "../config/config.ts";
import { SETTINGS } from "../config/settings.ts";
import { ConfigError } from "../errors.ts";
import { ensureFunds } from "../registration/funds.ts";
import { sendSteps } from "../registration/send.ts";
import { type RegistrationState, readRegistration, svc, UNITS_PER_SVC } from "../registration/state.ts";
import { missingStake, modelNumbers, registrationSteps, type Wanted } from "../registration/steps.ts";
import type { Terminal } from "./terminal.ts";

const DEVELOPMENT_CHAIN = 31_337;

type Parts = { config: Config; chain: Chain; backend: Backend; privateKey: Hex; terminal: Terminal; yes: boolean };

/**
 * Makes a worker ready to be given jobs: models in the catalog and at the backend, registration and stake on chain as configured. Sends nothing that was
 * not agreed to, and nothing at all if everything stands as it should.
 */
export async function setUp({ config, chain, backend, privateKey, terminal, yes }: Parts): Promise<void> {
  const signer = privateKeyToAccount(privateKey);
  const ownerKey = config.ownerKey ?? privateKey;
  const owner = privateKeyToAccount(ownerKey).address;
  const state = await readRegistration(chain, signer.address, owner);
  const models = [...config.models.keys()];
  modelNumbers(state.catalog, models);
  await checkBackend(backend, config, state.worker === null, terminal);

  const wanted: Wanted = {
    endpoint: await endpointOf(config, state, chain.deployment.chainId, terminal),
    models,
    payout: config.payout ?? state.worker?.payout ?? owner,
    stake: stakeOf(config, state),
    unbonding: "leave",
  };
  const domain = registryDomain(chain.deployment.chainId, chain.deployment.contracts.WorkerRegistry);
  const enrollment = await signer.signTypedData({
    domain,
    types: enrollmentTypes,
    primaryType: "Enrollment",
    message: { owner },
  });
  const steps = registrationSteps(chain.deployment, state, wanted, compactSignature(enrollment));
  if (state.worker !== null && state.worker.unbondsAt !== 0) {
    // It may still have answers that nobody has settled: it must be able to look after its pay.
    terminal.say(
      "Note: this worker is unbonding. It gets no new jobs and looks after its unsettled answers; " +
        "`npm run worker -- unbond --cancel` takes that back.",
    );
  }
  if (steps.length === 0) return;
  if (state.worker !== null && !yes && !terminal.interactive) {
    // Unattended restarts must come up: what is registered can serve, and has pay to look after.
    const differs = steps.map(({ what }) => what).join("; ");
    terminal.say(`Note: not as configured on chain, and nothing was sent: ${differs}. Start with --yes to send it.`);
    return;
  }
  terminal.say(`To be sent by ${owner}:\n${steps.map(({ what }) => `  - ${what}`).join("\n")}`);
  if (!(await terminal.confirm("Send that?", yes)))
    throw new ConfigError("nothing was sent; the worker does not start");
  await ensureFunds(chain, { owner, stake: missingStake(state, wanted), steps: steps.length }, terminal);
  await sendSteps(chain, ownerKey, steps, (text) => terminal.say(text));
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
    terminal.say(`Kept the settings in ${file}: from now on \`npm run worker\` is enough.`);
  } catch (error) {
    // A file that is there already is the operator's own.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Before a registration the backend must really serve the models; a registered worker may be started before its model server. */
async function checkBackend(backend: Backend, config: Config, first: boolean, terminal: Terminal): Promise<void> {
  const where = config.backend.kind === "openai" ? ` at ${withoutLogin(config.backend.url)}` : "";
  let problem: string;
  try {
    const { missing, served } = await unserved(backend, config.models);
    if (missing.length === 0) return;
    problem =
      `the model server${where} does not serve ${missing.join(", ")}; it serves ${served.join(", ") || "nothing"}. ` +
      "Name its models with --models catalog-id=name-at-the-server";
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    problem = `the backend${where} cannot be asked for its models: ${error.message}. Is it running, and is that its address?`;
  }
  if (first) throw new ConfigError(problem);
  terminal.say(`Note: ${problem}`);
}

async function endpointOf(
  config: Config,
  state: RegistrationState,
  chainId: number,
  terminal: Terminal,
): Promise<string> {
  const development = chainId === DEVELOPMENT_CHAIN;
  const known = config.endpoint ?? state.worker?.endpoint ?? (development ? `http://127.0.0.1:${config.port}` : null);
  const endpoint = known ?? (await terminal.ask("Public URL of this worker (https://…):", "--endpoint URL"));
  if (!URL.canParse(endpoint)) throw new ConfigError(`${endpoint} is not a URL: use --endpoint https://your-host`);
  if (!development && new URL(endpoint).protocol !== "https:") {
    throw new ConfigError(
      `gateways ask only https endpoints: put a TLS proxy before port ${config.port} and name it with --endpoint`,
    );
  }
  return endpoint;
}

function stakeOf(config: Config, { minimumStake, worker }: RegistrationState): bigint {
  if (config.stake === null) return worker === null ? minimumStake * 2n : minimumStake;
  const stake = BigInt(Math.round(config.stake * UNITS_PER_SVC));
  if (stake < minimumStake) {
    throw new ConfigError(`--stake ${config.stake} is below the minimum of ${svc(minimumStake)}: no job would come`);
  }
  return stake;
}
