/** A worker that signed two answers can be convicted long after its job is over. That changes nothing of the job, and audits say so. */
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { verifyJson } from "./support/cli.ts";
import { type Protocol, people, startProtocol, workerKey } from "./support/protocol.ts";

let p: Protocol;
beforeAll(async () => {
  p = await startProtocol();
});
afterAll(() => p?.stop());

const byStranger = (functionName: string, args: unknown[]) => p.batch(people.stranger, [{ functionName, args }]);

async function acknowledged(): Promise<Hex> {
  const jobId = await p.lock();
  const assignment = { jobId, worker: workerKey.address, attempt: 1, acknowledgeBy: (await p.now()) + 60 };
  const offered = await p.sign(people.gateway, "Assignment", assignment);
  const taken = await p.sign(workerKey, "Acknowledgement", { jobId, attempt: 1 });
  await byStranger("acknowledge", [assignment, offered, taken]);
  return jobId;
}

it.each([
  ["failed", (jobId: Hex) => p.batch(people.gateway, [{ functionName: "fail", args: [jobId, 1] }])],
  ["refunded", (jobId: Hex) => p.later(200).then(() => byStranger("refund", [jobId]))],
])(
  "holds for a job that was %s, for its wallet and for the range, before and after its worker is convicted",
  async (_how, end) => {
    const jobId = await acknowledged();
    await end(jobId);
    const audits = async () => {
      const target = ["--rpc", p.chain.rpcUrl, "--escrow", p.escrow.address];
      const subjects = [["job", jobId], ["wallet", people.client.address], ["range"]];
      const codes = [];
      for (const subject of subjects) codes.push((await verifyJson([...subject, ...target])).code);
      return codes;
    };
    expect(await audits()).toEqual([0, 0, 0]);
    const one = await p.completionOf(jobId);
    const two = { ...one, proofHash: answerHash("another") };
    const signed = async (message: typeof one) => [message, await p.sign(workerKey, "Completion", message)];
    await byStranger("proveEquivocation", [...(await signed(one)), ...(await signed(two))]);
    expect(await audits()).toEqual([0, 0, 0]);
  },
);
