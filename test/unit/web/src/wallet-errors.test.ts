/** What the application says when a token refuses: its errors name amounts, not the token. */
import { BaseError, ContractFunctionExecutionError, ContractFunctionRevertedError, encodeErrorResult } from "viem";
import { expect, it, vi } from "vitest";
import { testStablecoinAbi as abi } from "../../../../protocol/generated/abi.ts";

const [ESCROW, REGISTRY, HOLDER] = ["e5", "4e", "aa"].map((byte) => `0x${byte.repeat(20)}` as const) as [
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
];
vi.mock("../../../../web/src/data/app.ts", () => ({
  app: { contracts: { InferenceEscrow: `0x${"e5".repeat(20)}`, WorkerRegistry: `0x${"4e".repeat(20)}` } },
}));
// Types of the browser are not those of the tests.
const ERRORS: string = "../../../../web/src/wallet/errors.ts";
const { revertReason, walletErrorMessage } = await import(ERRORS);

it.for([
  [REGISTRY, 2_500_000_000_000_000_000n, "2.5 SVC"],
  [ESCROW, 2_500_000n, "2.5 USDG"],
] as const)("names the token that %s takes", ([contractAddress, needed, says]) => {
  const args = [HOLDER, 0n, needed] as const;
  const data = encodeErrorResult({ abi, errorName: "ERC20InsufficientBalance", args });
  const functionName = "name";
  const reverted = new ContractFunctionRevertedError({ abi, data, functionName });
  const cause = new BaseError("reverted", { cause: reverted });
  const thrown = new ContractFunctionExecutionError(cause, { abi, functionName, contractAddress });
  expect(walletErrorMessage(thrown).text).toContain(`${says} are needed`);
  expect(revertReason(data, contractAddress)).toContain(`${says} are needed`);
});
