import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { Keys } from "../../api/account/keys.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { query } from "../../scripts/dev/postgres.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { MODEL } from "../faults/world.ts";
import { openStore } from "../support/client.ts";
import { ask, type RecordedRequest } from "../support/recorded-request.ts";
import { SECOND_ADDRESS, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { readStories } from "../support/stories.ts";
import { type Drill, type Practice, startGateway } from "./drill.ts";

const THEFT_MS = 15_000;
const PAUSE_MS = 250;
/** What the thief locked and did not settle is refunded by anyone: completion and inclusion window. */
const REFUND_MS = 45_000;
/** From an answer to its settlement, at most. */
const SETTLING_MS = 5_000;

/**
 * docs/operations/incidents.md, "A key was stolen": the thief ends the gateway whose key it has. It runs a gateway of its own, on
 * a database of its own, in the name of the wallets that chose this operator. Were both to run, they would take each other's nonces.
 */
export const stolen: Drill = {
  name: "stolen-signer",
  does: "a thief locks wallets' credits with a gateway's key; the admin removes it; counts what it cost",
  mayFail: true,
  practise: async (practice) => {
    const { gateways, options, load } = practice;
    await practice.step("load", () => sleep(5_000));
    const [, robbed] = gateways;
    const begun = Date.now();
    const thief = await practice.step("the thief takes the gateway's host", async () => {
      await robbed.kill();
      return await beginTheft(practice);
    });
    practice.lossy.push({ from: begun - SETTLING_MS, until: begun + SETTLING_MS });
    await practice.step("nobody has noticed", () => sleep(THEFT_MS));
    const removed = await practice.step("the admin removes the key", async () => {
      await practice.operator(OPERATOR_ADMIN.privateKey, `signers rotate ${OPERATOR} --remove ${SECOND_ADDRESS}`);
      return Date.now();
    });
    // The thief has read what it can no longer settle.
    practice.lossy.push({ from: removed - SETTLING_MS, until: removed + SETTLING_MS });
    await practice.step("a new signer's gateway starts", async () => {
      const key = generatePrivateKey();
      const { signature } = await practice.operator(key, `signers consent ${OPERATOR}`);
      const consent = `${privateKeyToAddress(key)}:${signature}`;
      await practice.operator(OPERATOR_ADMIN.privateKey, `signers rotate ${OPERATOR} --add ${consent}`);
      await practice.world.rpc("anvil_setBalance", [privateKeyToAddress(key), "0x3635c9adc5dea00000"]);
      await practice.gateway(key);
    });
    await practice.step("what the thief left open is refunded", () => sleep(REFUND_MS));
    const failed = practice.failures.length;
    await practice.step("load", () => sleep(10_000));
    practice.expect(practice.failures.length === failed, "requests fail after the key's removal");
    const loot = await thief.stop();
    const stories = await readStories(practice.world.stack);
    const own = new Set(load.requests.map(({ jobId }) => jobId));
    const locked = loot.filter(({ jobId }) => jobId !== null && stories.has(jobId));
    const charged = locked.filter(({ jobId }) => (stories.get(jobId as string)?.settled ?? 0) > 0);
    const late = charged.filter(({ at, jobId }) => at > removed && !own.has(jobId));
    options.note(
      `the thief asked ${loot.length} times, locked ${locked.length} jobs and had ${charged.length} settled, ` +
        `${late.length} of them answered after the removal; they cost the wallets ${await spent(practice, charged)} credits`,
    );
    const answers = Map.groupBy(loot, ({ outcome, status, code }) => `${outcome} ${status} ${code ?? ""}`);
    options.note(`the thief was told: ${[...answers].map(([what, { length }]) => `${length} × ${what}`).join(", ")}`);
    practice.expect(charged.length > 0, "the thief stole nothing: the drill shows nothing");
    const after = loot.filter(({ at, outcome }) => outcome === "answered" && at > removed + 5_000);
    practice.expect(after.length === 0, `${after.length} answers were stolen five seconds after the removal`);
    // The verdict counts the thief as a client: what it got is charged to the wallets, and nothing else.
    load.requests.push(...loot);
  },
};

/** Credits that these jobs were charged, by the chain's events. */
async function spent({ world }: Practice, jobs: readonly RecordedRequest[]): Promise<number> {
  const ids = jobs.map(({ jobId }) => fromApiJobId(jobId as string));
  const text = `SELECT coalesce(sum(credits_charged), 0)::int AS sum FROM "index".job WHERE id = ANY($1)`;
  const { rows } = await world.pool.query(text, [ids]);
  return rows[0].sum;
}

async function beginTheft(practice: Practice): Promise<{ stop: () => Promise<RecordedRequest[]> }> {
  const { stack, clients } = practice.world;
  const database = stack.info.database_url.replace(/[^/]*$/, "thief");
  await query(stack.info.database_url, "CREATE DATABASE thief");
  const gateway = new SecondGateway(stack, {
    DATABASE_URL: database,
    GATEWAY_PRIVATE_KEY: SECOND_KEY,
    MASTER_KEY: randomBytes(32).toString("hex"),
    // It has no index to tell what workers have at risk.
    OWN_WORKERS: stack.workers.map(({ privateKey }) => privateKeyToAddress(privateKey)).join(),
  });
  practice.ends.push(() => gateway.kill());
  await startGateway(gateway);
  const pool = openStore({ ...stack, info: { ...stack.info, database_url: database } });
  const keys = await Promise.all(clients.map(({ account }) => new Keys(pool).regenerate(account.address)));
  await pool.end();
  const loot: RecordedRequest[] = [];
  let stopping = false;
  const stealing = (async () => {
    for (let n = 0; !stopping; n++) {
      const messages = [{ role: "user", content: `Stolen ${n}` }];
      const body = { model: MODEL, stream: false, max_tokens: 40, messages };
      loot.push(await ask({ gateway: gateway.url, apiKey: keys[n % keys.length] as string, body, patienceMs: 30_000 }));
      await sleep(PAUSE_MS);
    }
  })();
  return {
    stop: async () => {
      stopping = true;
      await stealing;
      return loot;
    },
  };
}
