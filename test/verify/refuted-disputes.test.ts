/** Disputes for which only a client's word stands: arbiters sort them out by what the gateway signed, and reject them in one transaction. */
import { type Abi, encodeFunctionData, type Hex, toHex } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOperator } from "../../operator/main.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { type Delivery, deliveryTypes, withDelivery } from "../../protocol/delivery.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { compactSignature, escrowDomain } from "../../protocol/messages.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { verifyJson } from "./support/cli.ts";
import { ANSWER, type Protocol, people, type Sender, startProtocol, workerKey } from "./support/protocol.ts";

const RIGHT = answerHash(ANSWER);
const WINDOW = 90;
const DAY = 86_400;
/** Of one ruling: 150 of them are within what a transaction may use (EIP-7825). */
const MOST_GAS = 2 ** 24 / 150;
const keyOf = (addressIndex: number): Hex => {
  const phrase = "test test test test test test test test test test test junk";
  return toHex(mnemonicToAccount(phrase, { addressIndex }).getHdKey().privateKey as Uint8Array);
};
const ADMIN = keyOf(5);
const ARBITERS = [keyOf(7), keyOf(8), keyOf(9)] as const;

let p: Protocol;
beforeAll(async () => {
  p = await startProtocol();
});
afterAll(() => p?.stop());

// biome-ignore lint/suspicious/noExplicitAny: each command prints JSON of its own
async function operator(command: string, key?: Hex): Promise<any> {
  const env = { ...p.chain.env, ...(key ? { OPERATOR_PRIVATE_KEY: key } : {}) };
  return JSON.parse(await runOperator([...command.split(" "), "--json"], env));
}

type Statement = { signer?: Sender; signed?: Partial<Delivery>; chainId?: number };

/** Calldata with which the operator disputes a job for a client, with a statement of what was sent: by default the truth, of the gateway's key. */
async function openCall(jobId: Hex, sent: Partial<Delivery> = {}, statement: Statement = {}): Promise<Hex> {
  const { completion, signature } = await p.signedIn(jobId);
  const args = [answerHash(`noise ${jobId}`), completion, signature] as const;
  const open = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "openDispute", args });
  const delivery: Delivery = { jobId, sentHash: RIGHT, complete: true, ...sent };
  const { chainId = p.chain.deployment.chainId, signer = people.gateway, signed } = statement;
  const typed = {
    domain: escrowDomain(chainId, p.escrow.address),
    types: deliveryTypes,
    primaryType: "Delivery" as const,
    message: { ...delivery, ...signed },
  };
  return withDelivery(open, { ...delivery, signature: compactSignature(await signer.signTypedData(typed)) });
}

const open = async (jobId: Hex, sent?: Partial<Delivery>, statement?: Statement) =>
  await p.send(people.gateway, p.escrow, "execute", [[await openCall(jobId, sent, statement)]]);

/** A settled job that its operator disputed. */
async function disputed(sent?: Partial<Delivery>, statement?: Statement): Promise<Hex> {
  const { jobId } = await p.settle();
  await open(jobId, sent, statement);
  return jobId;
}

const statusOf = async (jobId: Hex) =>
  (await p.read({ ...p.escrow, functionName: "jobOf", args: [jobId] })).status as number;
/** Why a person has to read a dispute; null if it is refuted, undefined if it is not open. */
const toRead = async (jobId: Hex): Promise<string | null | undefined> =>
  (await operator("disputes list")).find((one: { job_id: string }) => one.job_id === toApiJobId(jobId))?.to_read;
/** Ends what a test left open, so that the next one begins without disputes. */
const expireAll = async () => {
  const left = await operator("disputes list");
  if (left.length > 0) await p.later(DAY);
  for (const { job_id } of left) await operator(`disputes expire ${job_id} --yes`, ARBITERS[0]);
};

describe("disputes of a client that made its hash up", () => {
  it("are rejected by each arbiter in one transaction, once the wallet had its time", async () => {
    const jobs = [(await p.settle()).jobId, (await p.settle()).jobId];
    // A gateway opens disputes with whatever else is in its batch.
    await p.send(people.gateway, p.escrow, "execute", [await Promise.all(jobs.map((jobId) => openCall(jobId)))]);
    jobs.push(await disputed());
    const listed = await operator("disputes list");
    expect(listed).toMatchObject(
      jobs.map((jobId) => ({
        job_id: toApiJobId(jobId),
        worker_hash: RIGHT,
        delivery: { sent_hash: RIGHT, complete: true, signed_by: people.gateway.address },
        to_read: null,
      })),
    );
    const early = await operator("disputes reject-refuted --yes", ARBITERS[0]);
    expect(early).toMatchObject({ sent: false, rejected: [], waiting: 3 });

    await p.later(WINDOW);
    const shown = await operator("disputes reject-refuted", ARBITERS[0]);
    expect(shown).toMatchObject({ sent: false, contract: "ArbitrationPanel", function: "voteMany" });
    for (const key of ARBITERS.slice(0, 2)) {
      const { transaction, rejected } = await operator("disputes reject-refuted --yes", key);
      expect(transaction).toMatch(/^0x[0-9a-f]{64}$/);
      expect(rejected.toSorted()).toEqual(jobs.map(toApiJobId).toSorted());
    }
    expect(await Promise.all(jobs.map(statusOf))).toEqual(jobs.map(() => ChainStatus.Settled));
    expect(await operator("disputes list")).toEqual([]);
    expect(await operator("disputes reject-refuted --yes", ARBITERS[2])).toMatchObject({ sent: false, rejected: [] });
  });

  it("cost less gas each than the command reckons with", async () => {
    const jobs = [await disputed(), await disputed(), await disputed(), await disputed()];
    await p.later(WINDOW);
    await operator("disputes reject-refuted --yes", ARBITERS[0]);
    const { transaction } = await operator("disputes reject-refuted --yes", ARBITERS[1]);
    const { gasUsed } = await p.rpc.getTransactionReceipt({ hash: transaction });
    expect(Number(gasUsed) / jobs.length).toBeLessThan(MOST_GAS);
  });

  it("are left out for an arbiter that has voted on them", async () => {
    const [voted, other] = [await disputed(), await disputed()];
    await p.later(WINDOW);
    await operator(`disputes vote ${toApiJobId(voted)} rejected --yes`, ARBITERS[0]);
    expect((await operator("disputes reject-refuted --yes", ARBITERS[0])).rejected).toEqual([toApiJobId(other)]);
    await operator("disputes reject-refuted --yes", ARBITERS[1]);
    expect(await operator("disputes list")).toEqual([]);
  });

  it("are left out in their last two minutes, which could void the batch", async () => {
    await disputed();
    await p.later(DAY - 60);
    const fresh = await disputed();
    await p.later(WINDOW - 60);
    expect(await operator("disputes reject-refuted --yes", ARBITERS[0])).toMatchObject({ rejected: [], waiting: 2 });
    await p.later(60);
    expect((await operator("disputes reject-refuted --yes", ARBITERS[0])).rejected).toEqual([toApiJobId(fresh)]);
    await expireAll();
  });

  it("are an arbiter's to reject", async () => {
    await disputed();
    await p.later(WINDOW);
    await expect(operator("disputes reject-refuted --yes", generatePrivateKey())).rejects.toThrow("is no arbiter of");
    await expireAll();
  });

  it("of a proven job are sorted out as well: the worker can have its pay then", async () => {
    await p.send(people.svcHolder, p.token, "mint", [people.svcHolder.address, 1_000_000n]);
    await p.send(people.svcHolder, p.token, "approve", [p.escrow.address, 1_000_000n]);
    await p.send(people.svcHolder, p.escrow, "fundReserve", [OPERATOR, 100]);
    const { jobId } = await p.prove();
    await open(jobId);
    await p.later(3_600);
    expect(await toRead(jobId)).toBeNull();
    for (const key of ARBITERS.slice(0, 2)) await operator("disputes reject-refuted --yes", key);
    expect(await statusOf(jobId)).toBe(ChainStatus.Proven);
  });
});

describe("a dispute is left to a person", () => {
  /** They are listed with that reason, and no arbiter's command touches them. */
  const stay = async (jobs: Hex[], why: string) => {
    await p.later(WINDOW);
    for (const jobId of jobs) expect(await toRead(jobId)).toBe(why);
    for (const key of ARBITERS) expect((await operator("disputes reject-refuted --yes", key)).rejected).toEqual([]);
    for (const jobId of jobs) expect(await statusOf(jobId)).toBe(ChainStatus.Disputed);
    await expireAll();
  };

  it("if the wallet opened it, whatever stands behind its call", async () => {
    const { jobId } = await p.settle();
    // Even the gateway's own statement, copied by the wallet, says nothing against it.
    await p.send(people.client, p.escrow, "execute", [[await openCall(jobId)]]);
    await stay([jobId], "its wallet opened it");
  });

  it("if the wallet added its hash", async () => {
    const jobId = await disputed();
    expect(await toRead(jobId)).toBeNull();
    await p.join(jobId);
    await stay([jobId], "its wallet added its own hash");
  });

  it("if the gateway says that it sent another text, or not all of it", async () => {
    const other = await disputed({ sentHash: answerHash("another text") });
    await stay([other], "the gateway says that it sent another text than the worker proved");
    const part = await disputed({ complete: false });
    await stay([part], "the gateway says that it did not send all of its reply");
  });

  it("are left out without a readable statement of this job and chain", async () => {
    const silent = (await p.settle()).jobId;
    await p.dispute(people.gateway, silent);
    const broken = (await p.settle()).jobId;
    const call = await openCall(broken);
    await p.send(people.gateway, p.escrow, "execute", [[`${call}00`, call.slice(0, -2) as Hex]]);
    const jobs = [silent, broken];
    const statements: Statement[] = [
      // By a key of nobody's, and by the worker itself.
      { signer: privateKeyToAccount(generatePrivateKey()) },
      { signer: workerKey },
      { signed: { jobId: silent } },
      { signed: { sentHash: answerHash("what was really sent") } },
      { signed: { complete: false } },
      { chainId: 1 },
    ];
    for (const statement of statements) jobs.push(await disputed({}, statement));
    await stay(jobs, "no gateway signed what it sent");
  });

  it("if the statement is of a key that had left the operator before", async () => {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    const { signer, signature } = await operator(`signers consent ${OPERATOR}`, key);
    await operator(`signers rotate ${OPERATOR} --add ${signer}:${signature} --yes`, ADMIN);
    const during = await disputed({}, { signer: privateKeyToAccount(key) });
    await p.later(1);
    await operator(`signers rotate ${OPERATOR} --remove ${address} --yes`, ADMIN);
    const after = await disputed({}, { signer: privateKeyToAccount(key) });
    expect(await toRead(during)).toBeNull();
    expect(await toRead(after)).toBe("no gateway signed what it sent");
    await expireAll();
  });

  it("if an arbiter sees it otherwise", async () => {
    const jobId = await disputed();
    await p.later(WINDOW);
    await operator(`disputes vote ${toApiJobId(jobId)} worker-at-fault --yes`, ARBITERS[2]);
    await stay([jobId], "an arbiter sees it otherwise");
  });

  it("if the worker was caught with two answers", async () => {
    const { jobId, completion } = await p.settle();
    await open(jobId);
    const second = { ...completion, proofHash: answerHash("a second answer") };
    const [first, other] = await Promise.all([completion, second].map((one) => p.sign(workerKey, "Completion", one)));
    const args = [completion, first, second, other] as never;
    await p.send(people.stranger, { ...p.escrow, abi: p.escrow.abi as Abi }, "proveEquivocation", args);
    await stay([jobId], "its worker signed two answers");
  });
});

describe("verify-job", () => {
  const audit = async (jobId: Hex) => {
    const { deployment, rpcUrl } = p.chain;
    const args = [jobId, "--rpc", rpcUrl, "--escrow", deployment.contracts.InferenceEscrow];
    const { report } = await verifyJson(args);
    return report.jobs[0].checks.find(({ id }: { id: string }) => id === "dispute.delivery");
  };

  it("shows the statement, and whose it is", async () => {
    expect(await audit(await disputed())).toEqual({
      id: "dispute.delivery",
      holds: true,
      says: `the gateway signed that it sent all of its reply, of hash ${RIGHT}`,
    });
    expect(await audit(await disputed({}, { signer: workerKey }))).toMatchObject({ holds: false });
  });
});
