/** Every custom error of the contracts is asserted by some test. */
import { expect } from "chai";
import { declaredErrors, sources, unassertedErrors } from "./support/custom-errors.ts";

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

describe("Custom errors", () => {
  it("are all asserted by a test", () => {
    const declared = sources("contracts", ".sol").flatMap(declaredErrors);
    expect(declared).to.have.length.greaterThan(60);
    const tests = sources("test/contracts", ".test.ts", "custom-errors").concat(
      sources("test/contracts/support", "moves.ts"),
    );
    expect(unassertedErrors([...declared, ...INHERITED], tests)).to.deep.equal([]);
  });
});

describe("The list of custom errors", () => {
  it("finds declarations, with and without arguments, and not what only looks like one", () => {
    const source = `
      /// @notice error InComment(uint256);
      error First();
      error Second(
        uint256 a
      );
      // error Third();
      /* error Fourth(); */
      event error_like(uint256 a);
      function f() { revert First(); }
    `;
    expect(declaredErrors(source)).to.deep.equal(["First", "Second"]);
  });

  it("misses what no assertion names: not in the texts, only in a comment, or as a part of another name", () => {
    const test = `
      // "InComment" is not asserted
      /** "InBlock" neither */
      await expect(x).to.be.revertedWithCustomError(c, "Asserted");
      await expect(x).to.be.revertedWithCustomError(c, "PartlyNamed");
    `;
    expect(
      unassertedErrors(["Asserted", "Partly", "InComment", "InBlock", "Missing", "Missing"], [test]),
    ).to.deep.equal(["InBlock", "InComment", "Missing", "Partly"]);
  });
});
