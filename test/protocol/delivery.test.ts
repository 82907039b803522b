/** The operator's statement behind the arguments of `openDispute`. */
import { encodeFunctionData, type Hex, size } from "viem";
import { expect, it } from "vitest";
import { deliveryBehind, withDelivery } from "../../protocol/delivery.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { newJobId } from "../../protocol/job-id.ts";

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const jobId = newJobId();
const completion = {
  jobId,
  proofHash: word("a"),
  promptTokens: 1,
  completionTokens: 2,
  reasoningTokens: 0,
  textBytes: 8,
  completedAt: 3,
};
const call = encodeFunctionData({
  abi: inferenceEscrowAbi,
  functionName: "openDispute",
  args: [word("b"), completion, { r: word("c"), vs: word("d") }],
});
const statement = { jobId, sentHash: word("e"), signature: { r: word("1"), vs: word("2") } };

it.each([true, false])("is read as it was written, complete: %s", (complete) => {
  const data = withDelivery(call, { ...statement, complete });
  expect(data.startsWith(call)).toBe(true);
  expect(size(data)).toBe(size(call) + 4 * 32);
  expect(deliveryBehind(data, jobId)).toEqual({ ...statement, complete });
});

it("is none where nothing, less, more or no truth value stands there", () => {
  const data = withDelivery(call, { ...statement, complete: true });
  const two = data.replace(`${"e".repeat(64)}${"0".repeat(63)}1`, `${"e".repeat(64)}${"0".repeat(63)}2`) as Hex;
  expect(two).not.toBe(data);
  for (const wrong of [call, data.slice(0, -2) as Hex, `${data}00` as Hex, two]) {
    expect(deliveryBehind(wrong, jobId)).toBeNull();
  }
});
