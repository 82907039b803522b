/** Escrows that cheat, and questions that cannot be answered: the verifier names exactly what is wrong. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Abi, type Address, encodeEventTopics, type Hex, zeroHash } from "viem";
import { anvil } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { compactSignature, escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { startAnvil } from "../contracts/support/anvil.ts";
import { mined } from "../support/mined.ts";
import { testContract } from "../support/test-contract.ts";
import { failing, run, verifyJson } from "./support/cli.ts";
import { MODEL, otherWorkerKey, type Protocol, people, startProtocol, workerKey } from "./support/protocol.ts";

let p: Protocol;
let fake: { address: Address; abi: Abi };
beforeAll(async () => {
  const compiled = testContract("DishonestEscrow");
  p = await startProtocol();
  const { ModelCatalog, WorkerRegistry, ArbitrationPanel, Stablecoin, ProtocolTreasury } = p.chain.deployment.contracts;
  const hash = await p.rpc.deployContract({
    ...compiled,
    account: people.stranger,
    chain: anvil,
    args: [ModelCatalog, WorkerRegistry, ArbitrationPanel, Stablecoin, ProtocolTreasury, people.gateway.address],
  });
  const { contractAddress } = await mined(p.rpc, hash);
  fake = { address: contractAddress as Address, abi: compiled.abi };
  await p.send(people.client, p.token, "mint", [people.client.address, 100_000_000n]);
  await p.send(people.client, p.token, "approve", [fake.address, 100_000_000n]);
  const employed = [workerKey.address, workerKey.address, otherWorkerKey.address, otherWorkerKey.address];
  await p.send(people.stranger, fake, "employ", employed as never);
  await p.send(people.client, fake, "deposit", [10_000, OPERATOR] as never);
});
afterAll(() => p?.stop());

/** The faults by their number in DishonestEscrow.sol. */
const FAULTS = [
  "None",
  "Overcharge",
  "UnderpayWorker",
  "SkimFee",
  "KeepReturn",
  "OtherWorker",
  "OtherHash",
  "InflatedTokens",
  "InflatedLock",
  "OtherPrice",
  "KeepRefund",
  "HiddenSignature",
  "OtherOperator",
];

/** A job of 3,000 tokens (12 credits of 16 locked) on the escrow that cheats; its verdict. */
async function cheatedJob(fault: string) {
  await p.send(people.stranger, fake, "cheat", [FAULTS.indexOf(fault)] as never);
  const jobId = newJobId();
  const lock = [people.client.address, MODEL, jobId, 4_000, 1_000_000, 2 ** 40 - 1] as const;
  await p.send(people.gateway, { address: fake.address, abi: inferenceEscrowAbi }, "lock", lock);
  if (fault === "KeepRefund") {
    await p.later(150);
    await p.send(people.stranger, fake, "refund", [jobId] as never);
  } else {
    const message = {
      jobId,
      proofHash: `0x${"ab".repeat(32)}` as Hex,
      promptTokens: 3,
      completionTokens: 3_000,
      reasoningTokens: 0,
      textBytes: 12_000,
      completedAt: await p.now(),
    };
    const domain = escrowDomain(p.chain.deployment.chainId, fake.address);
    const signed = await workerKey.signTypedData({
      domain,
      types: jobMessageTypes,
      primaryType: "Completion",
      message,
    });
    const args = [message, 3_000, compactSignature(signed), people.client.address] as const;
    await p.send(people.gateway, { address: fake.address, abi: inferenceEscrowAbi }, "complete", args);
  }
  return await verifyJson([toApiJobId(jobId), "--rpc", p.chain.rpcUrl, "--escrow", fake.address]);
}

describe("an escrow that cheats", () => {
  it.each([
    ["None", []],
    ["Overcharge", ["settlement.charge"]],
    ["UnderpayWorker", ["payout.worker", "payout.nothing_else"]],
    ["SkimFee", ["payout.fee", "payout.nothing_else"]],
    ["KeepReturn", ["balance.after"]],
    ["OtherWorker", ["proof.signature"]],
    ["OtherHash", ["proof.signature", "proof.statement"]],
    ["InflatedTokens", ["settlement.tokens"]],
    ["InflatedLock", ["lock.credits"]],
    ["OtherPrice", ["lock.prices"]],
    ["HiddenSignature", ["proof.statement", "proof.statement"]],
    ["OtherOperator", ["lock.choice", "lock.operator"]],
    ["KeepRefund", ["balance.after"]],
  ])("%s: %j", async (fault, expected) => {
    const { code, report } = await cheatedJob(fault);
    expect(failing(report.jobs[0].checks)).toEqual(expected);
    expect(code).toBe(expected.length === 0 ? 0 : 1);
  });

  it("is found out by a range of blocks too, with the job and the wallet named", async () => {
    const { code, report } = await verifyJson(["--from-block", "0", "--rpc", p.chain.rpcUrl, "--escrow", fake.address]);
    expect(code).toBe(1);
    const found = report.checks.filter(({ holds }: { holds: boolean }) => !holds);
    const words = found.map(({ says }: { says: string }) => says).join("\n");
    expect(words).toMatch(/job_[0-9a-f]{32}: 16 credits were charged; 3000 tokens cost 12/);
    expect(words).toContain(`JobSettled of ${people.client.address.toLowerCase()}`);
    // What a worker was paid too little is still there, and belongs to nobody.
    expect(new Set(failing(report.checks))).toEqual(new Set(["jobs.money", "wallets.balance", "tokens.surplus"]));
  });
});

type Log = { topics: Hex[]; data: Hex };

/** A node that answers as another one does, with other logs. */
async function startLyingNode(rpcUrl: string, change: (method: string, log: Log) => Log) {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const headers = { "content-type": "application/json" };
    const answer = JSON.parse(await (await fetch(rpcUrl, { method: "POST", headers, body })).text());
    const { method } = JSON.parse(body);
    const { result } = answer;
    const changed = (logs: Log[]) => logs.map((log) => change(method, log));
    if (method === "eth_getLogs") answer.result = changed(result);
    if (method === "eth_getTransactionReceipt") result.logs = changed(result.logs);
    response.writeHead(200, headers).end(JSON.stringify(answer));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, stop };
}

/** The escrow keeps no hash of a settlement, so it takes any answer that the worker signed (docs/contracts/limitations.md, 21). */
it("a dispute that names another answer than the settled one is told by both hashes", async () => {
  const { jobId, completion } = await p.settle();
  const other = { ...completion, proofHash: answerHash("another answer") };
  const signature = await p.sign(workerKey, "Completion", other);
  await p.send(people.client, p.escrow, "openDispute", [completion.proofHash, other, signature]);
  const { code, report } = await verifyJson([toApiJobId(jobId), "--rpc", p.chain.rpcUrl, "--escrow", p.escrow.address]);
  const [job] = report.jobs;
  expect({ code, failing: failing(job.checks) }).toEqual({ code: 1, failing: ["dispute.hashes"] });
  const { says } = job.checks.find(({ id }: { id: string }) => id === "dispute.hashes");
  expect(says).toContain(`JobDisputed.workerHash is ${other.proofHash}, it should be ${completion.proofHash}`);
});

describe("what cannot be looked at ends with status 2 and says what to do", () => {
  const script = "verify/main.ts";
  const job = toApiJobId(newJobId());
  const rejects = (args: string[], env: Record<string, string> = {}) => expect(verifyJson(args, env)).rejects;
  const escrow = () => ["--rpc", p.chain.rpcUrl, "--escrow", p.escrow.address];

  it("a job that the chain does not have", async () => {
    await rejects([job, ...escrow()]).toThrow(/has no job job_.*wrong chain or escrow, or its lock is not mined yet/);
  });

  it.each([
    ["eth_getLogs", "logs"],
    ["eth_getTransactionReceipt", "receipts"],
  ])("a lock whose job id is wrong in the answers of %s", async (method, where) => {
    const { report } = await cheatedJob("None");
    const id = report.jobs[0].job_id as string;
    const topic = `0x${id.slice(4)}${"0".repeat(32)}`;
    const [selector] = encodeEventTopics({ abi: inferenceEscrowAbi, eventName: "JobLocked" });
    const node = await startLyingNode(p.chain.rpcUrl, (asked, log) => {
      const isLock = asked === method && log.topics[0] === selector && log.topics[1] === topic;
      return isLock ? { ...log, topics: [selector, zeroHash, ...log.topics.slice(2)] } : log;
    });
    try {
      await rejects([id, "--rpc", node.url, "--escrow", fake.address]).toThrow(
        `the node's ${where} have no JobLocked with the jobId of ${id}`,
      );
    } finally {
      await node.stop();
    }
  });

  it("a transaction that the chain does not have, and one that holds no job", async () => {
    await rejects([zeroHash, ...escrow()]).toThrow(/does not know transaction/);
    const { transactionHash } = await p.send(people.client, p.token, "mint", [people.client.address, 1n]);
    await rejects([transactionHash, ...escrow()]).toThrow(/holds no job of the escrow/);
  });

  it("a pending transaction", async () => {
    await p.rpc.setAutomine(false);
    try {
      const hash = await p.rpc.sendTransaction({
        account: people.client,
        to: people.client.address,
        value: 1n,
        chain: anvil,
      });
      await rejects([hash, ...escrow()]).toThrow(/is pending: it is not mined yet/);
    } finally {
      await p.rpc.setAutomine(true);
      await p.rpc.mine({ blocks: 1 });
    }
  });

  it("a wrong chain: another id than the stack's, or no escrow there", async () => {
    const other = await startAnvil({ args: ["--chain-id", "5"] });
    try {
      const stack = { rpc_url: p.chain.rpcUrl, chain_id: 31_337, contracts: { InferenceEscrow: p.escrow.address } };
      writeFileSync(join(p.chain.folder, "stack.json"), JSON.stringify(stack));
      const env = { DATA_DIR: p.chain.folder };
      await rejects([job, "--rpc", other.rpcUrl], env).toThrow(/wrong chain: .* is chain 5, .* on chain 31337/);
      await rejects([job, "--rpc", other.rpcUrl, "--escrow", p.escrow.address]).toThrow(/no contract at .* on chain 5/);
      // The stack file alone is enough where it is right.
      await rejects([job], env).toThrow(/has no job/);
    } finally {
      await other.stop();
    }
  });

  it("a contract that is no escrow, and a node that is not there", async () => {
    await rejects([job, "--rpc", p.chain.rpcUrl, "--escrow", p.token.address]).toThrow(
      /does not answer like an InferenceEscrow/,
    );
    await rejects([job, "--rpc", "http://127.0.0.1:1", "--escrow", p.token.address]).toThrow(/no node answers/);
  });

  it("a damaged stack file, by its name and without a stack trace", async () => {
    writeFileSync(join(p.chain.folder, "stack.json"), "{");
    const { code, output } = await run(script, [job], { DATA_DIR: p.chain.folder });
    expect(code).toBe(2);
    expect(output).toMatch(/^cmi-verify: .*stack\.json is not a stack file: no JSON\s*$/);
  });

  it("arguments that make no sense, as a process", async () => {
    const unknown = await run(script, ["--frobnicate"]);
    expect(unknown).toMatchObject({ code: 2, output: expect.stringContaining("npm run verify-job") });
    expect(await run(script, ["--help"])).toMatchObject({ code: 0 });
  });
});
