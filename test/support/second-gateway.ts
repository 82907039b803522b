import { privateKeyToAddress } from "viem/accounts";
import { freePort } from "../../scripts/dev/ports.ts";
import { Part, ROOT } from "./processes.ts";
import { plainEnv, type Stack } from "./stack.ts";

/** The stack whose chain and database it shares. */
type GatewayStack = Pick<Stack, "info" | "deploymentFile">;

/** Signs for a second gateway: a stack that is started with `gatewayKeys: [SECOND_KEY]` has it as a signer of its operator. */
export const SECOND_KEY = `0x${"5c".repeat(32)}` as const;
/** The same for a file that runs beside one with a second gateway: a key can be used by one process only. */
export const THIRD_KEY = `0x${"5d".repeat(32)}` as const;
/** Its operator removes it, in a file of its own. */
export const REMOVED_KEY = `0x${"5e".repeat(32)}` as const;
export const SECOND_ADDRESS = privateKeyToAddress(SECOND_KEY);
export const MASTER_KEY = "5a".repeat(32);

/** A gateway process beside the stack's own, on the same database and chain. */
export class SecondGateway {
  readonly #stack: GatewayStack;
  readonly #env: Record<string, string>;
  #part: Part | undefined;
  #earlier = "";
  /** Its base URL; the same after each start. */
  url = "";

  constructor(stack: GatewayStack, env: Record<string, string> = {}) {
    this.#stack = stack;
    this.#env = env;
  }

  /** Starts the process, in place of one that still runs, and waits until it can serve. `env` has settings of this start only; `root` is another checkout. */
  async start({ env: more = {}, root = ROOT }: { env?: Record<string, string>; root?: string } = {}): Promise<void> {
    await this.kill();
    const port = Number(new URL(this.url || `http://127.0.0.1:${await freePort()}`).port);
    this.url = `http://127.0.0.1:${port}`;
    const { info, deploymentFile } = this.#stack;
    const env = {
      ...plainEnv(),
      API_PORT: String(port),
      DATABASE_URL: info.database_url,
      RPC_URL: info.rpc_url,
      DEPLOYMENT_FILE: deploymentFile,
      GATEWAY_PRIVATE_KEY: SECOND_KEY,
      MASTER_KEY,
      ALLOW_LOCAL_ENDPOINTS: "true",
      WEBHOOK_CONFIRMATIONS: "0",
      LOG_LEVEL: "warn",
      ...this.#env,
      ...more,
    };
    this.#earlier = this.output;
    this.#part = new Part("second gateway", process.execPath, ["api/main.ts"], { cwd: root, env });
    await this.#part.until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
  }

  /** What it said last, when it has ended by itself. */
  get lastWords(): string | null {
    const { child, output } = this.#part ?? {};
    if (child === undefined || (child.exitCode === null && child.signalCode === null)) return null;
    return `exit ${child.exitCode ?? child.signalCode}: ${output?.slice(-2_000)}`;
  }

  /** What all its processes have said. */
  get output(): string {
    return this.#earlier + (this.#part?.output ?? "");
  }

  get pid(): number {
    return this.#part?.child.pid ?? Number.NaN;
  }

  /** Of its newest process, once it has ended; null when a signal ended it. */
  get exitCode(): number | null {
    return this.#part?.child.exitCode ?? null;
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.#part?.stop(signal);
  }
}
