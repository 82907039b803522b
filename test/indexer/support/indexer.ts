import { freePort } from "../../../scripts/dev/ports.ts";
import { Part, ROOT } from "../../support/processes.ts";

type IndexerSettings = {
  databaseUrl: string;
  rpcUrl: string;
  /** More nodes. */
  rpcUrls?: string[] | undefined;
  wsUrl?: string;
  deploymentFile: string;
};

/** `node indexer/main.ts` as the local stack runs it. */
export class Indexer {
  readonly part: Part;
  readonly port: number;

  private constructor(part: Part, port: number) {
    this.part = part;
    this.port = port;
  }

  static async launch(settings: IndexerSettings): Promise<Indexer> {
    const port = await freePort();
    const env = {
      ...process.env,
      DATABASE_URL: settings.databaseUrl,
      RPC_URL: settings.rpcUrl,
      RPC_URLS: (settings.rpcUrls ?? []).join(","),
      WS_URL: settings.wsUrl ?? "",
      DEPLOYMENT_FILE: settings.deploymentFile,
      INDEXER_PORT: String(port),
    };
    return new Indexer(new Part("indexer", process.execPath, ["indexer/main.ts"], { cwd: ROOT, env }), port);
  }

  /** Waits for the first 200 of /ready. */
  async ready(): Promise<void> {
    await this.part.until(async () => (await fetch(`http://127.0.0.1:${this.port}/ready`)).status === 200);
  }

  get log(): string {
    return this.part.output;
  }

  async stop(signal: NodeJS.Signals = "SIGINT"): Promise<void> {
    await this.part.stop(signal);
  }
}
