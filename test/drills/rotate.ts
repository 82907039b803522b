import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { openOperator } from "../../operator/operator.ts";
import { DEV_OWNER } from "../../operator/register-workers.ts";
import { OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { GATEWAY, OPERATOR } from "../../scripts/dev/wallets.ts";
import { eventually } from "../support/api-client.ts";
import { Client } from "../support/client.ts";
import { MASTER_KEY, type SecondGateway } from "../support/second-gateway.ts";
import { startWorker } from "../support/worker-process.ts";
import type { Drill, Practice } from "./drill.ts";

/** Seconds: the votes of the drill are as short as its windows. */
const GOVERNANCE = { votingDelay: 2, votingPeriod: 8, timelockDelay: 2 };
/** A job is open to disputes for so long after its end: the old signer stays until then. */
const DISPUTABLE_MS = 20_000;
const WAIT_MS = 60_000;

/** Every key in the table of docs/operations.md, in its order. Nothing changes a worker's owner; deployer and SVC holders are no roles. */
export const rotate: Drill = {
  name: "rotate",
  does: "rotates every key of the table in docs/operations.md",
  stack: async () => ({ env: { contracts: { DEPLOY_GOVERNANCE: JSON.stringify(GOVERNANCE) } } }),
  practise: async (practice) => {
    const [old, second] = practice.gateways;
    const fresh = await practice.step("gateway signer", () => rotateSigner(practice, old));
    await practice.step("operator's admin", () => rotateAdmin(practice));
    await practice.step("guardian and arbiters, by votes", () => rotatePeople(practice));
    await practice.step("worker signer", () => rotateWorker(practice));
    const masterKey = await rotateMasterKey(practice, [fresh, second]);
    await rotateDatabasePassword(practice, [fresh, second], masterKey);
    await practice.step("webhook secret", () => rotateWebhookSecret(practice));
    await practice.step("API key", () => rotateApiKey(practice));
  },
};

async function rotateSigner(practice: Practice, old: SecondGateway): Promise<SecondGateway> {
  const key = generatePrivateKey();
  const address = privateKeyToAddress(key);
  const { signature } = await practice.operator(key, `signers consent ${OPERATOR}`);
  await practice.operator(OPERATOR_ADMIN.privateKey, `signers rotate ${OPERATOR} --add ${address}:${signature}`);
  await practice.world.rpc("anvil_setBalance", [address, "0x3635c9adc5dea00000"]);
  const fresh = await practice.gateway(key);
  await old.kill("SIGTERM");
  practice.expect(old.exitCode === 0, `the old signer's gateway ended with ${old.exitCode}`);
  const open = async (): Promise<number> => {
    const text = `SELECT 1 FROM job WHERE gateway = $1 AND state IN ('locking','pending','processing','settling')`;
    return (await practice.world.pool.query(text, [GATEWAY.address.toLowerCase()])).rowCount ?? 0;
  };
  await eventually(open, (rows) => rows === 0, WAIT_MS);
  await sleep(DISPUTABLE_MS);
  await practice.operator(OPERATOR_ADMIN.privateKey, `signers rotate ${OPERATOR} --remove ${GATEWAY.address}`);
  return fresh;
}

const operatorAs = ({ world: { stack } }: Practice, key: Hex) =>
  openOperator({ RPC_URL: stack.info.rpc_url, DEPLOYMENT_FILE: stack.deploymentFile, OPERATOR_PRIVATE_KEY: key }, true);

/** Hands the operator over, and back. */
async function rotateAdmin(practice: Practice): Promise<void> {
  const key = generatePrivateKey();
  await practice.world.rpc("anvil_setBalance", [privateKeyToAddress(key), "0xde0b6b3a7640000"]);
  await practice.operator(OPERATOR_ADMIN.privateKey, `operators hand-over ${OPERATOR} ${privateKeyToAddress(key)}`);
  await practice.operator(key, `operators hand-over ${OPERATOR} ${OPERATOR_ADMIN.address}`);
}

async function rotatePeople(practice: Practice): Promise<void> {
  const holder = operatorAs(practice, DEV_OWNER);
  const { escrow, panel } = holder;
  const people = Array.from({ length: 4 }, () => privateKeyToAddress(generatePrivateKey()));
  await practice.operator(DEV_OWNER, "proposals delegate");
  // Votes count from the second after.
  await sleep(2_000);
  const proposals = [
    await practice.operator(DEV_OWNER, `protocol propose-guardian ${people[0]}`),
    await practice.operator(DEV_OWNER, `protocol propose-arbiters --arbiters ${people.slice(1)} --quorum 2`),
  ];
  for (const { proposal_id: id } of proposals) {
    const state = async (): Promise<string> => {
      const listed = await practice.operator(DEV_OWNER, "proposals list");
      return listed.find((one: { id: string }) => one.id === id).state;
    };
    await eventually(state, (now) => now === "active", WAIT_MS);
    await practice.operator(DEV_OWNER, `proposals vote ${id} for`);
  }
  for (const { proposal_id: id } of proposals) {
    const carryOut = (what: "queue" | "execute") => async (): Promise<boolean> =>
      practice.operator(DEV_OWNER, `proposals ${what} ${id}`).then(
        () => true,
        () => false,
      );
    for (const what of ["queue", "execute"] as const) await eventually(carryOut(what), Boolean, WAIT_MS);
  }
  const [arbiters] = await panel.read.arbitersOf([await panel.read.currentSet()]);
  const now = [await escrow.read.guardian(), ...arbiters];
  practice.expect(now.join() === people.join(), `the chain has other people than were voted for: ${now.join()}`);
}

/** A worker is its signing key: one with a new key comes, and the old one drains. */
async function rotateWorker(practice: Practice): Promise<void> {
  const { stack } = practice.world;
  const place = await practice.enrol();
  const { number, name, privateKey } = place.workers.at(-1) as (typeof place.workers)[number];
  const worker = await startWorker(place, number, {
    WORKER_FIRST_TOKEN_MS: "50",
    WORKER_DATA_DIR: join(place.dataDir, name),
  });
  practice.ends.push(() => worker.stop("SIGKILL"));
  const signer = privateKeyToAddress(privateKey).toLowerCase();
  const answers = () => practice.load.requests.filter((one) => one.worker?.toLowerCase() === signer).length;
  await eventually(
    async () => answers(),
    (n) => n > 0,
    WAIT_MS,
  );
  await stack.kill("worker-1", "SIGTERM");
  await sleep(3_000);
}

async function rotateMasterKey(practice: Practice, gateways: readonly SecondGateway[]): Promise<string> {
  const fresh = randomBytes(32).toString("hex");
  const steps: [string, Record<string, string>][] = [
    ["MASTER_KEY: all can read both", { MASTER_KEY, OTHER_MASTER_KEYS: fresh }],
    ["MASTER_KEY: all write the new one", { MASTER_KEY: fresh, OTHER_MASTER_KEYS: MASTER_KEY }],
    ["MASTER_KEY: the old one is forgotten", { MASTER_KEY: fresh }],
  ];
  for (const [what, env] of steps) {
    await practice.step(what, async () => {
      for (const gateway of gateways) await practice.exchange(gateway, { env: { ...env, LOG_LEVEL: "info" } });
      if (env["OTHER_MASTER_KEYS"] !== MASTER_KEY) return;
      const last = gateways.at(-1) as SecondGateway;
      const says = async () => last.output.includes("everything readable is under MASTER_KEY now");
      await eventually(says, Boolean, WAIT_MS);
    });
  }
  return fresh;
}

/** A second role with the rights of the first: while processes change over, both passwords are right. */
async function rotateDatabasePassword(
  practice: Practice,
  gateways: readonly SecondGateway[],
  masterKey: string,
): Promise<void> {
  const { stack } = practice.world;
  const url = new URL(stack.info.database_url);
  const database = new pg.Client({ connectionString: url.href });
  await database.connect();
  practice.ends.push(() => database.end());
  const password = randomBytes(16).toString("hex");
  await practice.step("PostgreSQL password", async () => {
    await database.query(`CREATE ROLE next LOGIN PASSWORD '${password}' IN ROLE postgres`);
    await database.query("ALTER ROLE next SET role = 'postgres'");
    url.username = "next";
    url.password = password;
    const env = { DATABASE_URL: url.href, MASTER_KEY: masterKey };
    for (const gateway of gateways) await practice.exchange(gateway, { env });
    await stack.kill("indexer", "SIGINT");
    const indexer = await practice.indexer({ DATABASE_URL: url.href });
    // Nobody may need the old role now. The verdict will: its own connections have it.
    await database.query("ALTER ROLE postgres NOLOGIN");
    await sleep(5_000);
    await database.query("ALTER ROLE postgres LOGIN");
    await indexer.stop("SIGINT");
  });
  await stack.restart("indexer");
}

async function rotateWebhookSecret(practice: Practice): Promise<void> {
  const { clients, receiver, gateways } = practice.world;
  const [client] = clients as [Client];
  const secret = `whsec_${randomBytes(24).toString("hex")}`;
  const base = `${gateways[0]}/v1/webhooks`;
  const headers = { authorization: `Bearer ${client.apiKey}`, "content-type": "application/json" };
  const listed = (await (await fetch(base, { headers })).json()) as { data: { id: string; url: string }[] };
  const [first] = listed.data;
  const body = JSON.stringify({ url: receiver.url("/client-0"), events: ["job.submitted", "job.completed"], secret });
  const made = await fetch(base, { method: "POST", headers, body });
  practice.expect(made.status === 201, `the second webhook was refused: ${made.status} ${await made.text()}`);
  const isNew = ({ headers: { "service-signature": signature }, body: bytes }: (typeof receiver.received)[number]) => {
    const [, time, mac] = /^t=(\d+),v1=(\w+)$/.exec(String(signature)) ?? [];
    return mac === createHmac("sha256", secret).update(`${time}.${bytes}`).digest("hex");
  };
  const told = async () => receiver.to("/client-0").filter(isNew);
  await eventually(told, (events) => events.length > 10, WAIT_MS);
  const ended = await fetch(`${base}/${first?.id}`, { method: "DELETE", headers });
  practice.expect(ended.ok, `the first webhook cannot be deleted: ${ended.status}`);
  const since = Date.now();
  const later = async () => receiver.to("/client-0").filter(({ at }) => at > since + 3_000);
  const news = await eventually(later, (events) => events.length > 5, WAIT_MS);
  practice.expect(news.every(isNew), "events do not all have the new secret");
}

async function rotateApiKey(practice: Practice): Promise<void> {
  const { stack, pool, gateways } = practice.world;
  const client = await Client.create(stack, pool, 1);
  const { address } = client.account;
  const asked = async (key: string) =>
    (await fetch(`${gateways[0]}/v1/account`, { headers: { authorization: `Bearer ${key}` } })).status;
  const before = await asked(client.apiKey);
  await practice.operator(OPERATOR_ADMIN.privateKey, `keys revoke ${address}`);
  const { api_key: key } = await practice.operator(OPERATOR_ADMIN.privateKey, `keys create ${address}`);
  const statuses = [before, await asked(client.apiKey), await asked(key)].join();
  practice.expect(statuses === "200,401,200", `old key, old key after its end, new key: ${statuses}`);
}
