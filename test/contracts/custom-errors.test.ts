/** Every custom error of the contracts is asserted by some test. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";

/**
 * Errors of OpenZeppelin's code that a caller of the protocol can meet. Those of SafeERC20, of the shared EIP-712 strings and of
 * ERC20's and Votes' own arithmetic are left out: they are OpenZeppelin's to test.
 */
const INHERITED = [
  "OwnableUnauthorizedAccount",
  "ReentrancyGuardReentrantCall",
  "SafeCastOverflowedUintDowncast",
  "ECDSAInvalidSignature",
  "ECDSAInvalidSignatureS",
  "ERC2612ExpiredSignature",
  "ERC2612InvalidSigner",
  "GovernorInsufficientProposerVotes",
  "GovernorOnlyExecutor",
  "GovernorUnexpectedProposalState",
  "GovernorAlreadyCastVote",
  "GovernorUnableToCancel",
  "TimelockUnauthorizedCaller",
  "TimelockUnexpectedOperationState",
  "AccessControlUnauthorizedAccount",
];

/** Names of the errors that Solidity source declares. */
function declaredErrors(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  return [...code.matchAll(/\berror\s+(\w+)\s*\(/g)].map((match) => match[1] as string);
}

/**
 * Errors that no assertion of the test sources names. An assertion names an error in quotes: as the argument of `expectRevert`,
 * `revertedWithCustomError` or `encodeErrorResult`, or in a table that ends there; a comment does not count.
 */
function unassertedErrors(errors: Iterable<string>, tests: readonly string[]): string[] {
  const code = tests.map((text) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")).join("\n");
  const quoted = new Set([...code.matchAll(/"(\w+)"/g)].map((match) => match[1]));
  return [...new Set(errors)].filter((error) => !quoted.has(error)).sort();
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Texts of all files below a folder of the project whose name ends like this, and does not begin like that. */
function sources(folder: string, ending: string, without?: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending) && (without === undefined || !file.startsWith(without)))
    .map((file) => readFileSync(join(ROOT, folder, file), "utf8"));
}

it("Custom errors are all asserted by a test", () => {
  const declared = sources("contracts", ".sol").flatMap(declaredErrors);
  expect(declared).to.have.length.greaterThan(60);
  const tests = sources("test/contracts", ".test.ts", "custom-errors").concat(
    sources("test/contracts/support", "moves.ts"),
  );
  expect(unassertedErrors([...declared, ...INHERITED], tests)).to.deep.equal([]);
});
