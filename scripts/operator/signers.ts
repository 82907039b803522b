import { type Address, type Hex, isHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { compactSignature } from "../../protocol/messages.ts";
import { readAddress } from "./arguments.ts";
import { signConsent } from "./consent.ts";
import type { Operator, Output } from "./context.ts";
import { OperatorError } from "./errors.ts";
import { readOperator } from "./operators.ts";
import { submit } from "./transactions.ts";

/** A gateway's key agrees to sign for an operator. Nothing is sent: the operator's admin adds the key with this. */
export async function consentAsSigner(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number, admin } = await readOperator(operator, args);
  const { chainId, contracts } = operator.deployment;
  const key = privateKeyToAccount(operator.privateKey);
  const place = { chainId, escrow: contracts.InferenceEscrow };
  const signature = await signConsent(key, place, { operator: number, admin });
  return {
    text: `${key.address}:${signature}\nThe consent of this key to sign for operator ${number}, as long as ${admin} is its admin.`,
    json: { operator: number, admin, signer: key.address, signature },
  };
}

/** The operator's admin adds and removes keys at once. */
export async function rotateSigners(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number } = await readOperator(operator, args);
  const added = listOf(operator, "add").map(readConsent);
  const removed = listOf(operator, "remove").map((key) => readAddress(key, "--remove"));
  if (added.length + removed.length === 0)
    throw new OperatorError(
      "name keys by --add <key>:<consent>,… or --remove <key>,… (signers consent prints a consent)",
    );
  const call = {
    ...operator.contracts.escrow,
    functionName: "rotateSigners",
    args: [number, added.map(({ key }) => key), added.map(({ consent }) => consent), removed],
  };
  return await submit(operator, call, `Signers of operator ${number}: ${added.length} more, ${removed.length} fewer`);
}

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
