/** Arguments of `cmi-verify` that make no sense: what was wrong, with which value, and what to do. */
import { describe, expect, it } from "vitest";
import { readOptions } from "../../verify/command.ts";

const JOB = "job_018f6b2c3d4e7a5b8c9d0e1f20314253";
const WALLET = "0x90f79bf6eb2c4f870365e785982e1f101e93b906";

describe("arguments are refused", () => {
  it.each<[arguments_: string, says: string]>([
    ["", '"job" needs a job id or a transaction hash'],
    ["job_42", '"job_42" is no job id (job_ and 32 hex digits), no transaction hash'],
    [`job ${JOB} ${JOB}`, `"job" takes one subject: leave out "${JOB}"`],
    [`job ${WALLET}`, `"job" needs a job id or a transaction hash: ${WALLET} is a wallet`],
    [`${JOB} --month 2026-11`, '--month 2026-11 is an option of "wallet", not of "job": leave it out'],
    ["wallet", '"wallet" needs a wallet\'s address'],
    [`wallet ${JOB}`, `"wallet" needs a wallet's address: ${JOB} is a job`],
    [`wallet ${WALLET.replace("b906", "B906")}`, "the checksum of the address"],
    [`wallet ${WALLET} --month 2026-13`, '"2026-13" is not a month: write 2026-11'],
    [`wallet ${WALLET} --from-block 5`, '--from-block 5 is an option of "range", not of "wallet": leave it out'],
    [`wallet ${WALLET} --text-file a.txt`, '--text-file a.txt is an option of "job", not of "wallet"'],
    ["range 5", '"range" takes no "5": name its blocks with --from-block and --to-block'],
    [`${JOB} --from-block 5`, `"range" takes no "${JOB}"`],
    ["range --from-block five", "--from-block five is not a whole number"],
    ["range --from-block 9 --to-block 5", "--to-block 5 is before --from-block 9"],
    [`${JOB} --rpc http://127.0.0.1:1`, "--escrow ADDRESS needed. A local stack's would be read from"],
    [`${JOB} --rpc http://127.0.0.1:1 --escrow 0x12`, "--escrow 0x12 is not an address"],
  ])("%s", (given, says) => {
    expect(() => readOptions(given.split(" ").filter(Boolean), { DATA_DIR: "/nowhere" })).toThrow(says);
  });
});
