/** Commands for running the service: clients' API keys, operators with their signers, reserves and earnings, and the worker pool. */

import { pino } from "pino";
import { privateKeyToAccount } from "viem/accounts";
import { Keys } from "../api/account/keys.ts";
import { GATEWAY_SCHEMA, openDatabase } from "../api/db/pool.ts";
import { EndpointRefused } from "../api/outbound/endpoint.ts";
import { WorkerClient } from "../api/workers/worker-client.ts";
import { toUnits, usdgText } from "../protocol/money.ts";
import { readSigners } from "../scripts/deploy/contracts.ts";
import { inBatches } from "../shared/in-batches.ts";
import { oneLine } from "../shared/one-line.ts";
import { address, consent, type Group, list, whole } from "./command.ts";
import { signConsent } from "./consent.ts";
import { call, iso, type Operator, OperatorError, type Output, submit } from "./operator.ts";
import { bringUpToDate, readWorkers } from "./register-workers.ts";

type Pool = ReturnType<typeof openDatabase>;

/** Keys are in the gateway's own tables. They themselves are not stored, only their last four characters. */
export const keys: Group = (program, { showFromDatabase }) => {
  const group = program.command("keys").description("API keys of clients");
  group
    .command("list")
    .description("API keys, by their last four characters")
    .option("--all", "revoked ones, too")
    .action(showFromDatabase((operator, { all = false }) => listKeys(operator, all)));
  group
    .command("create")
    .description("a key for a wallet that has none; shown once")
    .argument("<wallet>", "address of the wallet", address)
    .action(
      showFromDatabase(async (operator, wallet) => {
        const key = await withDatabase(operator, async (store) => {
          // A key that the wallet has must be revoked by name first, so that nobody locks a client out by mistake.
          if ((await store.current(wallet)) !== null)
            throw new OperatorError(`${wallet} has a key; revoke it first (keys revoke ${wallet})`);
          return await store.regenerate(wallet);
        });
        return { text: `${key}\nShown this once; only its hash is stored.`, json: { wallet, api_key: key } };
      }),
    );
  for (const [name, does, done] of [
    ["revoke", "ends the wallet's key at once", "revoked; every gateway refuses it from now on"],
    ["suspend", "answers 403 key_suspended from now on", "suspended"],
    ["unsuspend", "the key works again", "active"],
  ] as const) {
    group
      .command(name)
      .description(does)
      .argument("<wallet>", "address of the wallet", address)
      .action(
        showFromDatabase(async (operator, wallet) => {
          const isChanged = await withDatabase(operator, (store) =>
            name === "revoke" ? store.revoke(wallet) : store.setSuspended(wallet, name === "suspend"),
          );
          if (!isChanged) throw new OperatorError(`${wallet} has no key`);
          return { text: `The key of ${wallet} is ${done}.`, json: { wallet, status: done.split(";")[0] } };
        }),
      );
  }
};

async function listKeys(operator: Operator, all: boolean): Promise<Output> {
  const { rows } = await withDatabase(operator, (_, pool) =>
    pool.query(
      `SELECT wallet, hint, created_at, suspended_at, revoked_at FROM api_key
       WHERE $1 OR revoked_at IS NULL ORDER BY created_at`,
      [all],
    ),
  );
  const json = rows.map((row) => ({
    wallet: row.wallet,
    key: `…${row.hint}`,
    status: row.revoked_at ? "revoked" : row.suspended_at ? "suspended" : "active",
    created_at: row.created_at.toISOString(),
  }));
  const text = json.map((one) => `${one.wallet}  ${one.key}  ${one.status.padEnd(9)}  ${one.created_at}`);
  return { text: text.join("\n") || "no keys", json };
}

async function withDatabase<T>({ databaseUrl }: Operator, run: (keys: Keys, pool: Pool) => Promise<T>): Promise<T> {
  if (!databaseUrl) throw new OperatorError("set DATABASE_URL to the gateway's PostgreSQL");
  const pool = openDatabase(databaseUrl, pino({ level: "warn" }, pino.destination(2)), 1);
  try {
    const { rows } = await pool.query("SELECT to_regclass($1) AS found", [`${GATEWAY_SCHEMA}.api_key`]);
    if (rows[0]?.found === null)
      throw new OperatorError("the database has no table of keys: start the gateway once, it makes them");
    return await run(new Keys(pool), pool);
  } finally {
    await pool.end();
  }
}

const OPERATOR = ["<operator>", "number of the operator", whole(1, 160)] as const;
const credits = whole(0, 2 ** 40 - 1);

export const operators: Group = (program, { show, send, propose }) => {
  const group = program.command("operators").description("operators of gateways");
  group
    .command("list")
    .description("operators with their admins, signers, gas and reserves")
    .action(show(listOperators));
  group
    .command("propose-admit")
    .description("vote: a new operator")
    .argument("<admin>", "address of its admin", address)
    .action(
      propose(({ escrow }, admin) =>
        call(escrow, "admitOperator", [admin], `Admit an operator, administered by ${admin}`),
      ),
    );
  group
    .command("stop")
    .description("guardian: takes the right to lock, at once")
    .argument(...OPERATOR)
    .action(
      send(async (operator, of) => {
        const { number } = await readOperator(operator, of);
        return call(operator.escrow, "stopOperator", [number, true], `Stop operator ${number}`);
      }),
    );
  group
    .command("hand-over")
    .description("admin: names another admin, at once")
    .argument(...OPERATOR)
    .argument("<admin>", "address of the other admin", address)
    .action(
      send(async (operator, of, admin) => {
        const { number } = await readOperator(operator, of);
        return call(operator.escrow, "setOperatorAdmin", [number, admin], `Hand operator ${number} to ${admin}`);
      }),
    );
  group
    .command("propose-start")
    .description("vote: gives the right to lock back")
    .argument(...OPERATOR)
    .action(
      propose(async (operator, of) => {
        const { number } = await readOperator(operator, of);
        return call(operator.escrow, "stopOperator", [number, false], `Let operator ${number} lock again`);
      }),
    );
};

async function readOperator({ escrow }: Operator, number: number) {
  const count = await escrow.read.operatorCount();
  if (number > count) throw new OperatorError(`there is no operator ${number}; ${count} were admitted`);
  const [found, stopped] = await Promise.all([escrow.read.operatorOf([number]), escrow.read.stoppedOperators()]);
  return { number, stopped: ((stopped >> BigInt(number - 1)) & 1n) === 1n, ...found };
}

async function listOperators(operator: Operator): Promise<Output> {
  const { client, deployment, escrow } = operator;
  const [count, signers] = await Promise.all([
    escrow.read.operatorCount(),
    readSigners(client, escrow, BigInt(deployment.startBlock)),
  ]);
  const json = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { number, admin, stopped, reserve, held, leaving, leavesAt } = await readOperator(operator, i + 1);
      const keys = signers.filter((signer) => signer.operator === number);
      return {
        operator: number,
        admin,
        stopped,
        signers: await Promise.all(
          keys.map(async ({ key, removedAt }) => ({
            address: key,
            gas_wei: String(await client.getBalance({ address: key })),
            removed_at: removedAt === 0 ? null : iso(removedAt),
          })),
        ),
        reserve,
        held,
        leaving: leavesAt === 0 ? null : { credits: leaving, from: iso(leavesAt) },
      };
    }),
  );
  const text = json.flatMap(({ operator: number, admin, stopped, signers: keys, reserve, held, leaving }) => [
    `${number}  admin ${admin}  ${stopped ? "stopped" : "locks"}  reserve ${reserve} credits, ${held} held` +
      (leaving === null ? "" : `, ${leaving.credits} may leave from ${leaving.from}`),
    ...keys.map(
      ({ address, gas_wei, removed_at }) =>
        `   signer ${address}  ${removed_at === null ? `${gas_wei} wei for gas` : `removed at ${removed_at}`}`,
    ),
  ]);
  return { text: text.join("\n") || "no operators", json };
}

export const signers: Group = (program, { show, send }) => {
  const group = program.command("signers").description("keys of gateways");
  group
    .command("consent")
    .description("a gateway's key agrees to sign for the operator; sends nothing")
    .argument(...OPERATOR)
    .action(
      show(async (operator, of) => {
        const { number, admin } = await readOperator(operator, of);
        const key = operator.wallet.account;
        const place = { chainId: operator.deployment.chainId, escrow: operator.escrow.address };
        const signature = await signConsent(key, place, { operator: number, admin });
        return {
          text: `${key.address}:${signature}\nThe consent of this key to sign for operator ${number}, as long as ${admin} is its admin.`,
          json: { operator: number, admin, signer: key.address, signature },
        };
      }),
    );
  group
    .command("rotate")
    .description("operator's admin: adds and removes gateways' keys, at once")
    .argument(...OPERATOR)
    .option("--add <KEY:CONSENT,…>", "keys to add, as `signers consent` prints them", list(consent), [])
    .option("--remove <KEY,…>", "addresses of the keys to remove", list(address), [])
    .action(
      send(async (operator, of, { add, remove }) => {
        const { number } = await readOperator(operator, of);
        if (add.length + remove.length === 0)
          throw new OperatorError(
            "name keys by --add <key>:<consent>,… or --remove <key>,… (signers consent prints a consent)",
          );
        const args = [number, add.map(({ key }) => key), add.map((one) => one.consent), remove];
        const what = `Signers of operator ${number}: ${add.length} more, ${remove.length} fewer`;
        return call(operator.escrow, "rotateSigners", args, what);
      }),
    );
};

export const reserve: Group = (program, { show, send }) => {
  const group = program.command("reserve").description("credits that stand for an operator's faults");
  group
    .command("fund")
    .description("buys credits for an operator's reserve; anyone can")
    .argument(...OPERATOR)
    .argument("<credits>", "credits to buy", credits)
    .action(show(fundReserve));
  group
    .command("announce")
    .description("operator's admin: announces a withdrawal; 0 takes it back")
    .argument(...OPERATOR)
    .argument("<credits>", "credits to withdraw", credits)
    .action(
      send(async (operator, of, amount) => {
        const { number } = await readOperator(operator, of);
        const what = amount === 0 ? "Take the withdrawal back" : `Announce a withdrawal of ${amount} credits`;
        const args = [number, amount];
        return call(operator.escrow, "announceReserveWithdrawal", args, `${what}, reserve of operator ${number}`);
      }),
    );
  group
    .command("withdraw")
    .description("operator's admin: withdraws what is due")
    .argument(...OPERATOR)
    .argument("<receiver>", "address that gets it", address)
    .action(
      send(async (operator, of, receiver) => {
        const { number, leaving } = await readOperator(operator, of);
        const what = `Withdraw up to ${leaving} credits of operator ${number} to ${receiver}`;
        return call(operator.escrow, "withdrawReserve", [number, receiver], what);
      }),
    );
};

async function fundReserve(operator: Operator, of: number, amount: number): Promise<Output> {
  const { escrow, stablecoin, wallet } = operator;
  const { number } = await readOperator(operator, of);
  const units = toUnits(amount);
  const what = `Add ${amount} credits to the reserve of operator ${number}`;
  const fund = call(escrow, "fundReserve", [number, amount], what);
  // If the escrow may not take these units yet, the wallet approves them first.
  const allowance = await stablecoin.read.allowance([wallet.account.address, escrow.address]);
  if (allowance >= units) return await submit(operator, fund);
  const approve = `Let the escrow take ${units} units of the stablecoin`;
  const approval = await submit(operator, call(stablecoin, "approve", [escrow.address, units], approve));
  // Before the approval is mined the second call can be neither simulated nor sent.
  if (!operator.sends) return { ...approval, text: `${approval.text}\nIt will then also send: ${what}.` };
  const funded = await submit(operator, fund);
  return { text: `${approval.text}\n${funded.text}`, json: funded.json };
}

const DAY = 86_400;

export const earnings: Group = (program, { show, send }) => {
  const group = program.command("earnings").description("operators' part of the fee");
  group
    .command("list")
    .description("what an operator earned and did not withdraw, by the day of the locks")
    .argument(...OPERATOR)
    .action(
      show(async (operator, of) => {
        const { number } = await readOperator(operator, of);
        const json = (await readEarnings(operator, number)).map(({ day, units, vestsAt, vested }) => ({
          day: iso(day * DAY).slice(0, 10),
          units: String(units),
          vested,
          from: iso(vestsAt),
        }));
        const text = json.map(
          ({ day, units, vested, from }) =>
            `${day}  ${usdgText(BigInt(units)).padStart(16)}  ${vested ? "can be withdrawn" : `can be withdrawn from ${from}`}`,
        );
        return { text: text.join("\n") || "no earnings", json };
      }),
    );
  group
    .command("withdraw")
    .description("operator's admin: withdraws all that has vested, without an announcement")
    .argument(...OPERATOR)
    .argument("<receiver>", "address that gets it", address)
    .action(
      send(async (operator, of, receiver) => {
        const { number } = await readOperator(operator, of);
        const vested = (await readEarnings(operator, number)).filter((one) => one.vested);
        const [first, last] = [vested.at(0), vested.at(-1)];
        if (first === undefined || last === undefined)
          throw new OperatorError(`operator ${number} has no earnings that have vested; see \`earnings list\``);
        const sum = vested.reduce((all, { units }) => all + units, 0n);
        const what = `Withdraw ${usdgText(sum)} that operator ${number} earned to ${receiver}`;
        return call(operator.escrow, "withdrawEarnings", [number, first.day, last.day, receiver], what);
      }),
    );
};

/** Days of which the operator has earnings, since the deployment. Asked day by day: the escrow keeps no list. */
async function readEarnings({ client, escrow, deployment }: Operator, number: number) {
  const [first, now, longestRisk] = await Promise.all([
    client.getBlock({ blockNumber: BigInt(deployment.startBlock) }),
    client.getBlock(),
    escrow.read.LONGEST_RISK(),
  ]);
  const [begin, end] = [first, now].map(({ timestamp }) => Math.floor(Number(timestamp) / DAY)) as [number, number];
  const days = await Promise.all(
    Array.from({ length: end - begin + 1 }, async (_, i) => {
      const day = begin + i;
      const vestsAt = (day + 1) * DAY + longestRisk;
      const units = await escrow.read.earningsOf([number, day]);
      return { day, units, vestsAt, vested: now.timestamp >= BigInt(vestsAt) };
    }),
  );
  return days.filter(({ units }) => units > 0n);
}

export const workers: Group = (program, { show, propose }) => {
  const group = program.command("workers").description("the worker pool");
  group.command("list").description("stake, state, health and models of all workers").action(show(listWorkers));
  group
    .command("propose-worth")
    .description("vote: what 1,000 SVC are worth; a fall holds at once")
    .argument("<credits>", "credits that 1,000 SVC are worth", whole(1, 2 ** 32 - 1))
    .action(
      propose(({ registry }, credits) =>
        call(registry, "scheduleSvcWorth", [credits], `1,000 SVC are worth ${credits} credits`),
      ),
    );
  group
    .command("register")
    .description("registers one's own pool, or brings it up to date")
    .requiredOption("--workers-file <F>", "JSON list of {privateKey, endpoint, models, payout?}")
    .action(show((operator, { workersFile }) => registerWorkers(operator, workersFile)));
};

async function registerWorkers(operator: Operator, file: string): Promise<Output> {
  const { client, registry, wallet, deployment, sends } = operator;
  const entries = readWorkers(file);
  const addresses = entries.map(({ privateKey }) => privateKeyToAccount(privateKey).address);
  // Stake is counted in millionths of an SVC.
  const stake = `${(2 * Number(await registry.read.minimumStake())) / 1e6} SVC`;
  const plan = entries.map(
    ({ endpoint, models }, i) => `  ${addresses[i]} at ${endpoint}, ${models.join(", ")}, staked up to ${stake}`,
  );
  const text = [`Register or update ${entries.length} workers of ${wallet.account.address}:`, ...plan].join("\n");
  const json = { sent: sends, workers: addresses };
  if (!sends) return { text: `${text}\nNot sent. Repeat with --yes to send it.`, json };
  const transactions = await bringUpToDate({ client, wallet, deployment }, entries);
  return { text: `${text}\n${transactions} transactions sent and mined.`, json: { ...json, transactions } };
}

const READS_AT_ONCE = 20;

/** Every worker ever registered: stake, state on chain, and of those that may take jobs whether their endpoint answers from here. */
async function listWorkers(operator: Operator): Promise<Output> {
  const count = await operator.registry.read.workerCount();
  const endpoints = new WorkerClient(operator.endpoints);
  const ids = Array.from({ length: count }, (_, i) => i + 1);
  const json = await inBatches(ids, READS_AT_ONCE, (id) => describeWorker(operator, endpoints, id));
  await endpoints.close();
  const text = json.map(
    (one) =>
      `${one.id}  ${one.address}  ${one.state.padEnd(9)}  ${one.stake_svc ?? "?"} SVC  ${(one.health ?? "not asked").padEnd(11)}  ${oneLine(one.endpoint ?? "?")}  models ${oneLine(one.models?.join(",") ?? "?")}`,
  );
  return { text: text.join("\n") || "no workers", json };
}

/** A row of the list. One that registered very many models cannot be read: its view needs more gas than nodes allow. */
async function describeWorker({ registry }: Operator, endpoints: WorkerClient, id: number) {
  const address = await registry.read.signerOf([id]);
  const worker = await registry.read.workerAt([id]).catch(() => null);
  const state = worker === null ? "unreadable" : worker.unbondsAt !== 0 ? "unbonding" : "below minimum stake";
  return {
    id,
    address,
    owner: worker?.owner ?? null,
    payout: worker?.payout ?? null,
    stake_svc: worker && Number(worker.stake) / 1e6,
    state: worker?.active ? "active" : state,
    endpoint: worker?.endpoint ?? null,
    /** Null: it was not asked. */
    health: worker?.active ? await healthOf(endpoints, worker.endpoint) : null,
    models: worker?.models ?? null,
  };
}

async function healthOf(endpoints: WorkerClient, endpoint: string): Promise<string> {
  try {
    const { status } = await endpoints.probe(endpoint, 2_000);
    return status === "ok" ? "healthy" : `says ${oneLine(status, 20)}`;
  } catch (error) {
    // Refused, timed out, no such host, or no health report: what the list is to show.
    return error instanceof EndpointRefused ? "not public" : "unreachable";
  }
}
