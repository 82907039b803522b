/**
 * Everything that can be set, in the order in which help shows it. `env` is the name in the environment, `flag` on the command line and in the
 * configuration file. Secrets have no flag and no place in the file: flags are visible to every user of the machine.
 */
export type Setting = { env: string; flag: string | null; value: string; help: string };

const setting = (env: string, flag: string | null, value: string, help: string): Setting => ({
  env,
  flag,
  value,
  help,
});

export const SETTINGS: readonly Setting[] = [
  setting(
    "WORKER_BACKEND",
    "backend",
    "URL",
    "base URL of an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1; or builtin",
  ),
  setting("WORKER_BACKEND_KEY", null, "KEY", "bearer key of that server"),
  setting("WORKER_GGUF", "gguf", "PATH", "load this GGUF file with llama.cpp instead; several: id=path,id=path"),
  setting(
    "WORKER_GGUF_CONTEXT",
    "gguf-context",
    "N",
    "most tokens of context a job gets (default: what fits the memory)",
  ),
  setting("WORKER_GGUF_THREADS", "gguf-threads", "N", "CPU threads (default: llama.cpp's choice)"),
  setting("WORKER_GGUF_GPU", "gguf-gpu", "auto|off", "use a GPU if its binaries are installed (default auto)"),
  setting("WORKER_MODELS", "models", "ID,ID", "catalog ids to host; id=name where the backend has another name"),
  setting(
    "WORKER_ENDPOINT",
    "endpoint",
    "URL",
    "where gateways reach this worker (https; on a development chain http://127.0.0.1:PORT)",
  ),
  setting("RPC_URL", "rpc-url", "URL", "node of the settlement chain (default http://127.0.0.1:8545)"),
  setting("DEPLOYMENT_FILE", "deployment", "FILE", "addresses of the contracts (default .data/deployment.json)"),
  setting("WORKER_DATA_DIR", "data-dir", "DIR", "key, configuration and unsettled answers (default .worker)"),
  setting("WORKER_PORT", "port", "N", "port to listen on (default 9101)"),
  setting("WORKER_HOST", "host", "HOST", "address to listen on (default 127.0.0.1; 0.0.0.0 for all)"),
  setting("WORKER_CONCURRENCY", "concurrency", "N", "jobs at once (default 32; with --gguf 2)"),
  setting("WORKER_QUEUE", "queue", "N", "jobs that may wait; beyond that they are refused (default 64; with --gguf 2)"),
  setting("WORKER_PAYOUT", "payout", "ADDRESS", "who is paid (default: the owner)"),
  setting("WORKER_STAKE", "stake", "SVC", "stake to hold (default: twice the minimum)"),
  setting("WORKER_PRIVATE_KEY", null, "KEY", "signing key, instead of the encrypted one in the data folder"),
  setting("WORKER_OWNER_PRIVATE_KEY", null, "KEY", "owner of stake and payout (default: the signing key)"),
  setting("WORKER_PASSPHRASE", null, "TEXT", "passphrase of the encrypted key"),
  setting("WORKER_PASSPHRASE_FILE", "passphrase-file", "FILE", "file that holds it"),
  setting(
    "WORKER_SELF_SETTLE_AFTER",
    null,
    "SECONDS",
    "prove a job by itself so long after its end (default: when half the time is left)",
  ),
  setting(
    "WORKER_ACKNOWLEDGE_MARGIN",
    null,
    "SECONDS",
    "relay the own acknowledgement so long before its deadline (default 5)",
  ),
  setting("WORKER_KEEP_SETTLED_SECONDS", null, "SECONDS", "keep an answer so long after its settlement (default 15)"),
  setting("WORKER_SETTLEMENT_POLL_MS", null, "MS", "look at unsettled jobs this often (default 2000)"),
  setting("WORKER_LOCK_WAIT_MS", null, "MS", "wait for a lock that the node does not show yet (default 2000)"),
  setting("WORKER_DRAIN_SECONDS", null, "SECONDS", "at a stop, let running jobs end for so long (default 130)"),
  setting("WORKER_TOKENS_PER_SECOND", null, "N", "speed of the built-in generator (default 0: unlimited)"),
  setting("WORKER_FIRST_TOKEN_MS", null, "MS", "its pause before the first token (default 0)"),
  setting("WORKER_LOG_LEVEL", "log-level", "LEVEL", "fatal, error, warn, info, debug, trace or silent (default info)"),
];

export const USAGE = `Usage: npm run worker -- [command] [options]

  run            (default) serve jobs; the first time, set the worker up: key, stake, endpoint, models
  status         what the chain, this machine and the backend say about the worker (--json)
  drain          let a running worker finish its jobs and stop
  unbond         start to unbond the stake: no new jobs from then on (--cancel takes it back)
  withdraw       pay the unbonded stake out (--to ADDRESS; default: the owner)
  install-llama  install llama.cpp for --gguf (--gpu cuda|vulkan)

  --config FILE  settings as JSON, named like the flags (default: config.json in the data folder)
  --yes          do what is asked without asking back
  --help         this text

Settings (flags win over the environment, the environment over the file):
${SETTINGS.map(({ env, flag, value, help }) => `  ${(flag === null ? env : `--${flag} ${value}`).padEnd(28)} ${help}${flag === null ? "" : ` [${env}]`}`).join("\n")}
`;

/** Where a message of what is wrong sends the operator. */
export const HELP = "`npm run worker -- --help` shows every command and setting.";
