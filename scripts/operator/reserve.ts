import { erc20Abi } from "viem";
import { toUnits } from "../../protocol/money.ts";
import { positional, readAddress, readInteger } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { readOperator } from "./operators.ts";
import { submit } from "./transactions.ts";

const MOST_CREDITS = 2 ** 40 - 1;

/** Anyone buys credits for an operator's reserve. What the escrow may not take yet is approved first. */
export async function fundReserve(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number } = await readOperator(operator, args);
  const credits = readInteger(positional(args, 1, "credits"), "<credits>", 1, MOST_CREDITS);
  const { escrow } = operator.contracts;
  const stablecoin = { name: "Stablecoin", address: operator.deployment.contracts.Stablecoin, abi: erc20Abi } as const;
  const units = toUnits(credits);
  const what = `Add ${credits} credits to the reserve of operator ${number}`;
  const fund = { ...escrow, functionName: "fundReserve", args: [number, credits] };
  const allowance = await operator.client.readContract({
    ...stablecoin,
    functionName: "allowance",
    args: [operator.signer.account.address, escrow.address],
  });
  if (allowance >= units) return await submit(operator, fund, what);
  const approve = { ...stablecoin, functionName: "approve", args: [escrow.address, units] };
  const approval = await submit(operator, approve, `Let the escrow take ${units} units of the stablecoin`);
  // Before the approval is mined the second call can be neither simulated nor sent.
  if (!operator.sends) return { ...approval, text: `${approval.text}\nIt will then also send: ${what}.` };
  const funded = await submit(operator, fund, what);
  return { text: `${approval.text}\n${funded.text}`, json: funded.json };
}

/** The operator's admin announces a withdrawal; it is due when no job locked before it can cost the operator any more. */
export async function announceReserve(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number } = await readOperator(operator, args);
  const credits = readInteger(positional(args, 1, "credits"), "<credits>", 0, MOST_CREDITS);
  const call = { ...operator.contracts.escrow, functionName: "announceReserveWithdrawal", args: [number, credits] };
  const what = credits === 0 ? "Take the withdrawal back" : `Announce a withdrawal of ${credits} credits`;
  return await submit(operator, call, `${what}, reserve of operator ${number}`);
}

/** The operator's admin has the announced credits paid out. */
export async function withdrawReserve(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number, leaving } = await readOperator(operator, args);
  const receiver = readAddress(positional(args, 1, "receiver"), "<receiver>");
  const call = { ...operator.contracts.escrow, functionName: "withdrawReserve", args: [number, receiver] };
  return await submit(operator, call, `Withdraw up to ${leaving} credits of operator ${number} to ${receiver}`);
}
