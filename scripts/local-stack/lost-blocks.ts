import pg from "pg";
import { incarnationName } from "../../api/store/incarnation.ts";
import type { Deployment } from "../../protocol/deployment.ts";
import type { StackContext } from "./context.ts";
import { codeOf } from "./errors.ts";
import { rpc } from "./rpc.ts";

/** Tables and schemas that are not there yet. */
const ABSENT = new Set(["42P01", "3F000"]);

/** The newest block that each part has noted in the database: the gateways, the webhooks, the index. */
const SEEN = [
  "SELECT max(mined_block) AS block FROM gateway.chain_transaction",
  "SELECT max(block) AS block FROM gateway.webhook_watermark WHERE deployment = $1",
  `SELECT substr(latest_checkpoint, 27, 16) AS block FROM "index"._ponder_checkpoint LIMIT 1`,
];

/**
 * A development chain that is killed forgets what came after its last dump; the database does not. Says what that means, before the
 * parts start and repair what they can. Nothing to say of a chain that was deployed anew: that has been said.
 */
export async function reportLostBlocks(context: StackContext, deployment: Deployment): Promise<void> {
  const head = Number(await rpc<string>(context.urls.rpc, "eth_blockNumber"));
  const seen = await newestSeen(context.databaseUrl, incarnationName(deployment));
  if (seen <= head) return;
  context.report(
    "chain",
    `it was killed and resumes from its last dump: blocks ${head + 1} to ${seen} are lost. The gateway sends its own transactions ` +
      "again and ends the jobs of that time; what wallets did in them (deposits, approvals, votes) has to be done again",
  );
}

async function newestSeen(connectionString: string, deployment: string): Promise<number> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    const [known] = await ask(client, "SELECT name AS block FROM gateway.incarnation");
    if (known !== deployment) return 0;
    let newest = 0;
    for (const text of SEEN) {
      const [block] = await ask(client, text, text.includes("$1") ? [deployment] : []);
      newest = Math.max(newest, Number(block ?? 0));
    }
    return newest;
  } finally {
    await client.end();
  }
}

async function ask(client: pg.Client, text: string, values: unknown[] = []): Promise<(string | null)[]> {
  try {
    const { rows } = await client.query<{ block: string | null }>(text, values);
    return rows.map(({ block }) => block);
  } catch (error) {
    if (ABSENT.has(codeOf(error) ?? "")) return [];
    throw error;
  }
}
