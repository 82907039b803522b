/** Who runs the service: operators with their signers and reserves, and the worker pool. */
import { type Address, erc20Abi, type Hex, isHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { compactSignature } from "../../protocol/messages.ts";
import { toUnits } from "../../protocol/money.ts";
import { readSigners } from "../deploy/roles.ts";
import { readRegisterConfig } from "../register-workers/config.ts";
import { Registration } from "../register-workers/registration.ts";
import { signConsent } from "./consent.ts";
import {
  type Call,
  type Command,
  iso,
  type Operator,
  OperatorError,
  type Output,
  readAddress,
  readInteger,
  readOption,
} from "./operator.ts";

const LAST_OPERATOR = 160;
const MOST_CREDITS = 2 ** 40 - 1;

export const OPERATORS: readonly Command[] = [
  {
    usage: "operators list",
    does: "operators with their admins, signers, gas and reserves",
    show: listOperators,
  },
  {
    usage: "operators propose-admit <admin>",
    does: "vote: a new operator",
    propose: ({ contracts }, [address = ""]) => {
      const admin = readAddress(address, "<admin>");
      const what = `Admit an operator, administered by ${admin}`;
      return { ...contracts.escrow, functionName: "admitOperator", args: [admin], what };
    },
  },
  {
    usage: "operators stop <operator>",
    does: "guardian: takes the right to lock, at once",
    send: async (operator, [number]) => stopOperator(operator, (await readOperator(operator, number)).number, true),
  },
  {
    usage: "operators propose-start <operator>",
    does: "vote: gives the right to lock back",
    propose: async (operator, [number]) => stopOperator(operator, (await readOperator(operator, number)).number, false),
  },
];

const stopOperator = ({ contracts }: Operator, number: number, stopped: boolean): Call => ({
  ...contracts.escrow,
  functionName: "stopOperator",
  args: [number, stopped],
  what: stopped ? `Stop operator ${number}` : `Let operator ${number} lock again`,
});

/** An operator that was admitted. */
async function readOperator({ client, contracts }: Operator, text: string | undefined) {
  const number = readInteger(text, "<operator>", 1, LAST_OPERATOR);
  const count = await client.readContract({ ...contracts.escrow, functionName: "operatorCount" });
  if (number > count) throw new OperatorError(`there is no operator ${number}; ${count} were admitted`);
  const [found, stopped] = await Promise.all([
    client.readContract({ ...contracts.escrow, functionName: "operatorOf", args: [number] }),
    client.readContract({ ...contracts.escrow, functionName: "stoppedOperators" }),
  ]);
  return { number, stopped: ((stopped >> BigInt(number - 1)) & 1n) === 1n, ...found };
}

async function listOperators(operator: Operator): Promise<Output> {
  const { client, deployment, contracts } = operator;
  const [count, signers] = await Promise.all([
    client.readContract({ ...contracts.escrow, functionName: "operatorCount" }),
    readSigners(client, contracts.escrow.address, BigInt(deployment.startBlock)),
  ]);
  const list = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { number, admin, stopped, reserve, held, leaving, leavesAt } = await readOperator(operator, `${i + 1}`);
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
  const text = list.flatMap(({ operator: number, admin, stopped, signers: keys, reserve, held, leaving }) => [
    `${number}  admin ${admin}  ${stopped ? "stopped" : "locks"}  reserve ${reserve} credits, ${held} held` +
      (leaving === null ? "" : `, ${leaving.credits} may leave from ${leaving.from}`),
    ...keys.map(
      ({ address, gas_wei, removed_at }) =>
        `   signer ${address}  ${removed_at === null ? `${gas_wei} wei for gas` : `removed at ${removed_at}`}`,
    ),
  ]);
  return { text: text.join("\n") || "no operators", json: list };
}

export const SIGNERS: readonly Command[] = [
  {
    usage: "signers consent <operator>",
    does: "a gateway's key agrees to sign for the operator; sends nothing",
    show: async (operator, [text]) => {
      const { number, admin } = await readOperator(operator, text);
      const { chainId, contracts } = operator.deployment;
      const key = operator.account;
      const place = { chainId, escrow: contracts.InferenceEscrow };
      const signature = await signConsent(key, place, { operator: number, admin });
      return {
        text: `${key.address}:${signature}\nThe consent of this key to sign for operator ${number}, as long as ${admin} is its admin.`,
        json: { operator: number, admin, signer: key.address, signature },
      };
    },
  },
  {
    usage: "signers rotate <operator> [--add KEY:CONSENT,…] [--remove KEY,…]",
    does: "operator's admin: adds and removes gateways' keys, at once",
    send: async (operator, [text]) => {
      const { number } = await readOperator(operator, text);
      const added = listOf(operator, "add").map(readConsent);
      const removed = listOf(operator, "remove").map((key) => readAddress(key, "--remove"));
      if (added.length + removed.length === 0)
        throw new OperatorError(
          "name keys by --add <key>:<consent>,… or --remove <key>,… (signers consent prints a consent)",
        );
      const args = [number, added.map(({ key }) => key), added.map(({ consent }) => consent), removed];
      const what = `Signers of operator ${number}: ${added.length} more, ${removed.length} fewer`;
      return { ...operator.contracts.escrow, functionName: "rotateSigners", args, what };
    },
  },
];

function listOf({ flags }: Operator, name: string): string[] {
  const value = flags[name];
  return typeof value === "string" ? value.split(",").filter(Boolean) : [];
}

function readConsent(text: string): { key: Address; consent: { r: Hex; vs: Hex } } {
  const [key = "", signature = ""] = text.split(":");
  if (!isHex(signature) || signature.length !== 132)
    throw new OperatorError(
      `--add ${text} must be <key>:<consent>, a consent of 65 bytes as \`signers consent\` prints it`,
    );
  return { key: readAddress(key, "--add"), consent: compactSignature(signature) };
}

export const RESERVE: readonly Command[] = [
  {
    usage: "reserve fund <operator> <credits>",
    does: "buys credits for an operator's reserve; anyone can",
    show: fundReserve,
  },
  {
    usage: "reserve announce <operator> <credits>",
    does: "operator's admin: announces a withdrawal; 0 takes it back",
    send: async (operator, [text, amount]) => {
      const { number } = await readOperator(operator, text);
      const credits = readInteger(amount, "<credits>", 0, MOST_CREDITS);
      const what = credits === 0 ? "Take the withdrawal back" : `Announce a withdrawal of ${credits} credits`;
      return {
        ...operator.contracts.escrow,
        functionName: "announceReserveWithdrawal",
        args: [number, credits],
        what: `${what}, reserve of operator ${number}`,
      };
    },
  },
  {
    usage: "reserve withdraw <operator> <receiver>",
    does: "operator's admin: withdraws what is due",
    send: async (operator, [text, address = ""]) => {
      const { number, leaving } = await readOperator(operator, text);
      const receiver = readAddress(address, "<receiver>");
      const what = `Withdraw up to ${leaving} credits of operator ${number} to ${receiver}`;
      return { ...operator.contracts.escrow, functionName: "withdrawReserve", args: [number, receiver], what };
    },
  },
];

/** What the escrow may not take yet is approved first. */
async function fundReserve(operator: Operator, [text, amount]: readonly string[]): Promise<Output> {
  const { number } = await readOperator(operator, text);
  const credits = readInteger(amount, "<credits>", 1, MOST_CREDITS);
  const { escrow } = operator.contracts;
  const stablecoin = { name: "Stablecoin", address: operator.deployment.contracts.Stablecoin, abi: erc20Abi } as const;
  const units = toUnits(credits);
  const what = `Add ${credits} credits to the reserve of operator ${number}`;
  const fund = { ...escrow, functionName: "fundReserve", args: [number, credits], what };
  const allowance = await operator.client.readContract({
    ...stablecoin,
    functionName: "allowance",
    args: [operator.account.address, escrow.address],
  });
  if (allowance >= units) return await operator.submit(fund);
  const approval = await operator.submit({
    ...stablecoin,
    functionName: "approve",
    args: [escrow.address, units],
    what: `Let the escrow take ${units} units of the stablecoin`,
  });
  // Before the approval is mined the second call can be neither simulated nor sent.
  if (!operator.sends) return { ...approval, text: `${approval.text}\nIt will then also send: ${what}.` };
  const funded = await operator.submit(fund);
  return { text: `${approval.text}\n${funded.text}`, json: funded.json };
}

export const WORKERS: readonly Command[] = [
  { usage: "workers list", does: "stake, state, health and models of all workers", show: listWorkers },
  {
    usage: "workers register --workers-file F",
    does: "registers one's own pool, or brings it up to date",
    show: registerWorkers,
  },
];

/** Every worker ever registered: stake, state on chain, and whether its endpoint answers from here. */
async function listWorkers({ client, contracts }: Operator): Promise<Output> {
  const count = await client.readContract({ ...contracts.registry, functionName: "workerCount" });
  const list = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const id = i + 1;
      const worker = await client.readContract({ ...contracts.registry, functionName: "workerAt", args: [id] });
      return {
        id,
        address: worker.signer,
        owner: worker.owner,
        payout: worker.payout,
        stake_svc: Number(worker.stake) / 1e6,
        state: worker.unbondsAt !== 0 ? "unbonding" : worker.active ? "active" : "below minimum stake",
        endpoint: worker.endpoint,
        health: await healthOf(worker.endpoint),
        models: worker.models,
      };
    }),
  );
  const text = list.map(
    (one) =>
      `${one.id}  ${one.address}  ${one.state.padEnd(9)}  ${one.stake_svc} SVC  ${one.health.padEnd(11)}  ${one.endpoint}  models ${one.models.join(",")}`,
  );
  return { text: text.join("\n") || "no workers", json: list };
}

async function healthOf(endpoint: string): Promise<string> {
  try {
    const response = await fetch(`${endpoint.replace(/\/+$/, "")}/healthz`, {
      signal: AbortSignal.timeout(2_000),
      redirect: "error",
    });
    return response.ok ? "healthy" : `HTTP ${response.status}`;
  } catch {
    // Refused, timed out or no such host: what the list is to show.
    return "unreachable";
  }
}

/** Registers the workers of a file (scripts/register-workers.ts), or brings them up to date; owned and staked by the signer. */
async function registerWorkers(operator: Operator): Promise<Output> {
  const { client, contracts, wallet, deployment, rpcUrl } = operator;
  const file = readOption(operator, "workers-file");
  const { workers } = readRegisterConfig({ RPC_URL: rpcUrl, DEPLOYMENT_FILE: "-", WORKERS_FILE: file });
  const addresses = workers.map(({ privateKey }) => privateKeyToAccount(privateKey).address);
  const minimum = await client.readContract({ ...contracts.registry, functionName: "minimumStake" });
  // Stake is counted in millionths of an SVC.
  const stake = `${(2 * Number(minimum)) / 1e6} SVC`;
  const plan = workers.map(
    ({ endpoint, models }, i) => `  ${addresses[i]} at ${endpoint}, ${models.join(", ")}, staked up to ${stake}`,
  );
  const text = [`Register or update ${workers.length} workers of ${wallet.account.address}:`, ...plan].join("\n");
  if (!operator.sends)
    return { text: `${text}\nNot sent. Repeat with --yes to send it.`, json: { sent: false, workers: addresses } };
  const registration = await Registration.begin(client, wallet, deployment);
  for (const worker of workers) await registration.bringUpToDate(worker);
  const transactions = await registration.confirm();
  return {
    text: `${text}\n${transactions} transactions sent and mined.`,
    json: { sent: true, workers: addresses, transactions },
  };
}
