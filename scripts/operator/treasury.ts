import { erc20Abi } from "viem";
import { decodeLogs, eventsOf, eventTopic } from "../../protocol/audit/event-log.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { positional, readAddress, readChoice, readInteger, readJobId, readUnits } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { propose } from "./proposals.ts";
import { submit } from "./transactions.ts";

/** What the treasury holds, and what it owes for jobs. */
export async function showTreasury(operator: Operator): Promise<Output> {
  const { client, deployment, contracts } = operator;
  const treasury = await client.readContract({ ...contracts.escrow, functionName: "treasury" });
  const balance = (address: `0x${string}`) =>
    client.readContract({ address, abi: erc20Abi, functionName: "balanceOf", args: [treasury] });
  const [stablecoin, svc, fee, cap, debts] = await Promise.all([
    balance(deployment.contracts.Stablecoin),
    balance(deployment.contracts.ServiceToken),
    client.readContract({ ...contracts.escrow, functionName: "feeBps" }),
    client.readContract({ ...contracts.escrow, functionName: "compensationCap" }),
    readDebts(operator),
  ]);
  const owed = debts.reduce((sum, { units }) => sum + BigInt(units), 0n);
  const text = [
    `treasury ${treasury}`,
    `  ${stablecoin} units of the stablecoin (${Number(stablecoin) / 1e6}), ${svc} base units of SVC, fee ${fee / 100} %`,
    `  owes ${owed} units for ${debts.length} jobs; pays at most ${cap} credits a day, a quarter of it for one operator's jobs`,
    ...debts.map(({ job_id, units, to }) => `    ${job_id}  ${units} units to its ${to}`),
  ];
  const json = {
    treasury,
    stablecoin_units: String(stablecoin),
    svc_units: String(svc),
    fee_bps: fee,
    compensation_cap: cap,
    debts,
  };
  return { text: text.join("\n"), json };
}

async function readDebts(operator: Operator) {
  const { escrow } = operator.contracts;
  const head = await operator.client.getBlockNumber({ cacheTime: 0 });
  const filter = { address: escrow.address, topics: [eventTopic("escrow", "Compensated")] };
  const logs = await operator.logs.read(filter, BigInt(operator.deployment.startBlock), head);
  const jobs = new Set(
    eventsOf(decodeLogs(logs, operator.addresses), "escrow", "Compensated").map(({ args }) => args.jobId),
  );
  const debts = await Promise.all(
    [...jobs].map(async (jobId) => {
      const [granted, paid, toWorker] = await operator.client.readContract({
        ...escrow,
        functionName: "compensationOf",
        args: [jobId],
      });
      return { job_id: toApiJobId(jobId), units: String(granted - paid), to: toWorker ? "worker" : "client" };
    }),
  );
  return debts.filter(({ units }) => units !== "0");
}

/** Has the treasury pay what it owes for a job. Anyone can. */
export async function collectDebt(operator: Operator, args: readonly string[]): Promise<Output> {
  const jobId = readJobId(positional(args, 0, "job id"));
  const call = { ...operator.contracts.escrow, functionName: "collectDebt", args: [jobId] };
  return await submit(operator, call, `Have the treasury pay its debt for ${toApiJobId(jobId)}`);
}

/** A vote pays out of the treasury. */
export async function proposePayment(operator: Operator, args: readonly string[]): Promise<Output> {
  const { Stablecoin, ServiceToken } = operator.deployment.contracts;
  const token = readChoice(positional(args, 0, "stablecoin|svc"), "<token>", ["stablecoin", "svc"]);
  const receiver = readAddress(positional(args, 1, "receiver"), "<receiver>");
  const units = readUnits(positional(args, 2, "units"), "<units>");
  const address = token === "svc" ? ServiceToken : Stablecoin;
  const call = { ...operator.contracts.treasury, functionName: "pay", args: [address, receiver, units] };
  return await propose(operator, call, `Pay ${units} units of ${token} to ${receiver}`);
}

/** A vote announces a fee. */
export async function proposeFee(operator: Operator, args: readonly string[]): Promise<Output> {
  const feeBps = readInteger(positional(args, 0, "bps"), "<bps>", 0, 2_000);
  const call = { ...operator.contracts.escrow, functionName: "scheduleFee", args: [feeBps] };
  return await propose(operator, call, `Protocol fee of ${feeBps / 100} %`);
}

/** A vote sets what the treasury can be charged on a UTC day. */
export async function proposeCap(operator: Operator, args: readonly string[]): Promise<Output> {
  const credits = readInteger(positional(args, 0, "credits"), "<credits>", 0, 1_000_000);
  const call = { ...operator.contracts.escrow, functionName: "setCompensationCap", args: [credits] };
  return await propose(operator, call, `Compensations of at most ${credits} credits a day`);
}
