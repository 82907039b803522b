import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getAccount, getHead, getJob } from "../../api/db/index-reads.ts";
import { chainFiles } from "../../scripts/dev/chain.ts";
import { eventually } from "../support/api-client.ts";
import { startChain } from "./support/chain.ts";
import type { Indexer } from "./support/indexer.ts";
import { listEvents } from "./support/rows.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let indexer: Indexer;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.world.register([5]);
  await stage.world.deposit(1_000);
  // At its start Ponder counts all but the last 30 blocks as final: there must be more.
  await finalize();
  indexer = await stage.startIndexer();
  await stage.caughtUp();
});
afterAll(async () => await stage?.close());

const count = async () => (await listEvents(stage.pool)).length;
const account = async () =>
  (await getAccount(stage.pool, stage.world.client.address)) as NonNullable<Awaited<ReturnType<typeof getAccount>>>;
const builds = async () => await stage.sql("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'index_')");
/** What Ponder says before it waits for a lock of its own, 15 to 25 s long. */
const LOCKED = "locked by a different Ponder app";
/** Ponder calls a block final 30 blocks later, and says so every 30 blocks. */
const finalize = async () => await stage.chain.rpc("anvil_mine", ["0x41"]);

/** Lets PostgreSQL refuse the next commit that changes an account. Returns how many accounts were written since then, and ends that. */
async function refuseOneCommit(): Promise<() => Promise<number>> {
  const [build] = await builds();
  await stage.sql("CREATE SEQUENCE commits");
  await stage.sql(`CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF nextval('commits') = 1 THEN RAISE 'the first commit is refused'; END IF; RETURN NULL; END $$`);
  await stage.sql(`CREATE CONSTRAINT TRIGGER refuse_one AFTER UPDATE ON "${build?.["nspname"]}".account
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_one()`);
  return async () => {
    const [tried] = await stage.sql<{ last_value: number }>("SELECT last_value::int FROM commits");
    await stage.sql("DROP FUNCTION refuse_one CASCADE");
    await stage.sql("DROP SEQUENCE commits");
    return tried?.last_value ?? 0;
  };
}

test("a block that PostgreSQL refuses at its COMMIT is counted once", async () => {
  const { free, deposited } = await account();
  const tried = await refuseOneCommit();
  await stage.world.deposit(100);
  await stage.caughtUp();
  expect(await tried()).toBeGreaterThan(1);
  expect(await account()).toMatchObject({ free: free + 100, deposited: deposited + 100 });
});

test("ends without its database, resumes where it was, and counts nothing twice", async () => {
  const job = await stage.world.settledJob();
  await finalize();
  await stage.caughtUp();
  const before = await count();
  const { deposited } = await account();
  await stage.sql(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'indexer_launcher' AND datname = current_database()",
  );
  expect(await indexer.part.exited).toBe(75);
  expect(indexer.log).toContain("lost the connection to PostgreSQL");
  await stage.world.deposit(100);
  await finalize();
  const meanwhile = await stage.world.settledJob();
  await stage.chain.rpc("anvil_mine", ["0x3"]);
  const tried = await refuseOneCommit();

  const wanted = Number(await stage.chain.rpc("eth_blockNumber"));
  let broken = 0;
  let watching = true;
  const look = async () => {
    const head = await getHead(stage.pool).catch(() => null);
    if (!head?.ready || head.blockNumber < wanted) return;
    if ((await getJob(stage.pool, meanwhile)) === null) broken += 1;
  };
  const watch = (async () => {
    for (; watching; await sleep(10)) await look();
  })();
  // Awaited below, after the indexer's start: a look that fails first is no unhandled rejection.
  watch.catch(() => {});
  indexer = await stage.startIndexer();
  await stage.caughtUp();
  watching = false;
  await watch;
  expect(broken).toBe(0);
  expect(await tried()).toBeGreaterThan(1);
  expect(await getJob(stage.pool, job)).toMatchObject({ status: "settled" });
  expect(await getJob(stage.pool, meanwhile)).toMatchObject({ status: "settled" });
  expect(await account()).toMatchObject({ deposited: deposited + 100 });
  expect(await count()).toBe(before + 3);
  expect(indexer.log).not.toContain("anew");
});

test("a second indexer stands by, takes over after kill -9, and drops an old build", async () => {
  const before = await account();
  await stage.sql("CREATE SCHEMA index_earlier_build");
  await stage.sql("CREATE TABLE index_earlier_build._ponder_checkpoint (finalized_checkpoint text)");
  const second = await stage.launchIndexer();
  await second.part.until(async () => second.log.includes("stands by"));
  expect((await fetch(`http://127.0.0.1:${indexer.port}/ready`)).status).toBe(200);
  // Ponder was started at this head; three blocks less, and it would refuse to start. It sees nothing of that.
  indexer.part.child.kill("SIGSTOP");
  await stage.chain.rpc("anvil_rollback", [3]);
  await indexer.stop("SIGKILL");
  await second.ready();
  indexer = second;
  await stage.caughtUp();
  await expect.poll(() => indexer.log, { timeout: 60_000 }).toContain("ends less than 30 blocks after");
  expect(indexer.log).not.toContain(LOCKED);
  expect(await account()).toEqual(before);
  await eventually(builds, ({ length }) => length === 1);
});

function isStateOf(text: string, block: number): boolean {
  try {
    return JSON.parse(text).best_block_number === block;
  } catch {
    // Cut short: it is being written.
    return false;
  }
}

/** The file that the chain is kept in, and what it holds once it has the newest block: anvil writes it every second. */
async function stateOfChain() {
  const { state } = chainFiles(stage.folder);
  const head = Number(await stage.chain.rpc("eth_blockNumber"));
  const old = await eventually(
    async () => readFileSync(state, "utf8"),
    (text) => isStateOf(text, head),
  );
  return { state, head, old };
}

test("a chain that loses final blocks ends the indexer, and is indexed anew", async () => {
  const { world } = stage;
  const kept = await account();
  const { state, head, old } = await stateOfChain();
  await world.settledJob();
  await finalize();
  await stage.caughtUp();
  const loseBlocks = async () => {
    await stage.chain.stop("SIGKILL");
    writeFileSync(state, old);
    await stage.replaceChain(startChain({ state, port: stage.chain.port }));
    expect(Number(await stage.chain.rpc("eth_blockNumber"))).toBe(head);
  };

  await loseBlocks();
  await stage.world.deposit(100);
  await finalize();
  await finalize();
  expect(await indexer.part.exited).toBe(75);
  expect(indexer.log).toContain("has lost what is stored as final");

  await loseBlocks();
  indexer = await stage.startIndexer();
  await stage.caughtUp();
  await expect.poll(() => indexer.log, { timeout: 60_000 }).toContain("indexing anew");
  await stage.agreed();
  expect(await account()).toEqual(kept);
});

test("ends in order by SIGTERM, and refuses another chain with the old file", async () => {
  await indexer.stop("SIGTERM");
  expect(await indexer.part.exited).toBe(0);
  await stage.chain.stop("SIGKILL");
  await stage.replaceChain(startChain({ port: stage.chain.port }));
  await expect(stage.startIndexer()).rejects.toThrow(/DEPLOYMENT_FILE is of another chain .* deploy again/);

  await stage.redeploy();
  await stage.world.deposit(300);
  indexer = await stage.startIndexer();
  await stage.caughtUp();
  await expect.poll(() => indexer.log, { timeout: 60_000 }).toContain("of another chain");
  const expected = { number: 1, free: 300, deposited: 300 };
  expect(await getAccount(stage.pool, stage.world.client.address)).toMatchObject(expected);
  await eventually(builds, ({ length }) => length === 1);
});
