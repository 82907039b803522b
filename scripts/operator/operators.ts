import { readSigners } from "../deploy/roles.ts";
import { positional, readAddress, readInteger } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { OperatorError } from "./errors.ts";
import { propose } from "./proposals.ts";
import { submit } from "./transactions.ts";

const LAST_OPERATOR = 160;

/** Number of an operator that was admitted. */
export async function readOperator(operator: Operator, args: readonly string[]) {
  const { escrow } = operator.contracts;
  const number = readInteger(positional(args, 0, "operator"), "<operator>", 1, LAST_OPERATOR);
  const count = await operator.client.readContract({ ...escrow, functionName: "operatorCount" });
  if (number > count) throw new OperatorError(`there is no operator ${number}; ${count} were admitted`);
  const [found, stopped] = await Promise.all([
    operator.client.readContract({ ...escrow, functionName: "operatorOf", args: [number] }),
    operator.client.readContract({ ...escrow, functionName: "stoppedOperators" }),
  ]);
  return { number, stopped: ((stopped >> BigInt(number - 1)) & 1n) === 1n, ...found };
}

/** Every operator with its admin, its gateways' signers and their gas, and its reserve. */
export async function listOperators(operator: Operator): Promise<Output> {
  const { client, deployment, contracts } = operator;
  const [count, signers] = await Promise.all([
    client.readContract({ ...contracts.escrow, functionName: "operatorCount" }),
    readSigners(client, contracts.escrow.address, BigInt(deployment.startBlock)),
  ]);
  const list = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { number, admin, stopped, reserve, held, leaving, leavesAt } = await readOperator(operator, [`${i + 1}`]);
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

/** A vote admits an operator; its admin adds the signers itself. */
export async function proposeOperator(operator: Operator, args: readonly string[]): Promise<Output> {
  const admin = readAddress(positional(args, 0, "admin"), "<admin>");
  const call = { ...operator.contracts.escrow, functionName: "admitOperator", args: [admin] };
  return await propose(operator, call, `Admit an operator, administered by ${admin}`);
}

/** The guardian stops an operator from locking, at once. Its open jobs go on. */
export async function stopOperator(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number } = await readOperator(operator, args);
  const call = { ...operator.contracts.escrow, functionName: "stopOperator", args: [number, true] };
  return await submit(operator, call, `Stop operator ${number}`);
}

/** A vote lets a stopped operator lock again. */
export async function proposeStart(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number } = await readOperator(operator, args);
  const call = { ...operator.contracts.escrow, functionName: "stopOperator", args: [number, false] };
  return await propose(operator, call, `Let operator ${number} lock again`);
}

/** The guardian stops or resumes deposits and locks; exits are never stopped. */
export async function setPaused(operator: Operator, paused: boolean): Promise<Output> {
  const call = { ...operator.contracts.escrow, functionName: "setPaused", args: [paused] };
  return await submit(operator, call, paused ? "Pause deposits and locks" : "Resume deposits and locks");
}

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
