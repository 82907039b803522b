/** What an operator does to the chain: shown first, sent only when told to, refused with the contract's own reason. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Address, type Hex, keccak256, toBytes, toHex } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOperator } from "../../operator/main.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { mined } from "../support/mined.ts";
import { run } from "./support/cli.ts";
import { MODEL, type Protocol, people, registerStranger, startProtocol, workerKey } from "./support/protocol.ts";

const DAY = 86_400;
const keyOf = (addressIndex: number): Hex => {
  const account = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
  return toHex(account.getHdKey().privateKey as Uint8Array);
};
/** Private keys of the protocol's people. */
const KEYS = {
  holder: keyOf(2),
  stranger: keyOf(4),
  operatorAdmin: keyOf(5),
  guardian: keyOf(6),
  arbiters: [keyOf(7), keyOf(8)] as const,
};

let p: Protocol;
beforeAll(async () => {
  p = await startProtocol();
});
afterAll(() => p?.stop());

/** Output of a command. */
function operator(command: string, key?: Hex): Promise<string> {
  return runOperator(command.split(" "), { ...p.chain.env, ...(key ? { OPERATOR_PRIVATE_KEY: key } : {}) });
}

// biome-ignore lint/suspicious/noExplicitAny: each command prints JSON of its own
async function json(command: string, key?: Hex): Promise<any> {
  return JSON.parse(await operator(`${command} --json`, key));
}

/** Whether the first operator can lock credits now. */
async function locks(): Promise<boolean> {
  const jobId = newJobId();
  await p.batch(people.gateway, [p.lockCall(jobId)]);
  const { status } = await p.read({ ...p.escrow, functionName: "jobOf", args: [jobId] });
  return status === ChainStatus.Locked;
}

/** Proposes, votes, waits, queues, waits, executes. */
async function decide(command: string): Promise<void> {
  await operator("proposals delegate --yes", KEYS.holder);
  await p.later(1);
  const { proposal_id: id, sent } = await json(`${command} --yes`, KEYS.holder);
  expect(sent).toBe(true);
  const state = async () => (await json("proposals list")).find((one: { id: string }) => one.id === id).state;
  expect(await state()).toBe("pending");
  await p.later(DAY + 1);
  await operator(`proposals vote ${id} for --yes`, KEYS.holder);
  await expect(operator(`proposals vote ${id} for --yes`, KEYS.stranger)).rejects.toThrow(
    "has no votes in this proposal",
  );
  await expect(operator(`proposals queue ${id} --yes`, KEYS.stranger)).rejects.toThrow(
    /the proposal is active, and this takes one that is succeeded; .*GovernorUnexpectedProposalState/,
  );
  await expect(operator(`${command} --yes`, KEYS.stranger)).rejects.toThrow(
    /had 0 SVC of votes in the block before, and a proposal needs 1,000,000 SVC: delegate/,
  );
  await p.later(5 * DAY);
  await operator(`proposals queue ${id} --yes`, KEYS.stranger);
  expect(await state()).toBe("queued");
  await p.later(2 * DAY);
  await operator(`proposals execute ${id} --yes`, KEYS.stranger);
  expect(await state()).toBe("executed");
}

/** Executes what a command would propose, as the timelock does after a vote. */
async function decided(command: string): Promise<void> {
  const { args } = await json(command, KEYS.holder);
  const [targets, , calldatas] = args as [Address[], unknown, Hex[]];
  const account = p.chain.deployment.contracts.ProtocolTimelock;
  await p.rpc.setBalance({ address: account, value: 10n ** 18n });
  await p.rpc.impersonateAccount({ address: account });
  for (const [i, to] of targets.entries()) {
    await mined(p.rpc, await p.rpc.sendTransaction({ account, to, data: calldatas[i] as Hex, chain: null }));
  }
}

describe("the command line", () => {
  it("explains itself, and says what is wrong with status 2", async () => {
    const help = await run("operator/main.ts", ["--help"]);
    expect(help).toMatchObject({ code: 0, output: expect.stringContaining("disputes vote [options] <job id>") });
    const wrong = await run("operator/main.ts", ["models", "drop", "qwen3-8b"], p.chain.env);
    expect(wrong).toMatchObject({ code: 2, output: expect.stringMatching(/unknown command 'drop'\n.*--help/) });
  });

  it("refuses missing, superfluous and malformed arguments", async () => {
    await expect(operator("operators stop")).rejects.toThrow("missing required argument 'operator'");
    await expect(operator("disputes reject")).rejects.toThrow("missing required argument 'job id'");
    await expect(operator("models list qwen3-8b")).rejects.toThrow("too many arguments");
    await expect(operator("models list --tier max")).rejects.toThrow("unknown option '--tier'");
    await expect(operator("operators propose-admit 0x12", KEYS.holder)).rejects.toThrow('"0x12" is not an address');
    await expect(operator("operators stop 0", KEYS.guardian)).rejects.toThrow(
      "'0' is invalid for argument 'operator'. It must be a whole number from 1 to 160",
    );
    await expect(operator("models propose-prices qwen3-8b --per-request 0 --per-1k 4", KEYS.holder)).rejects.toThrow(
      "'--per-request <N>' argument '0' is invalid. It must be a whole number from 1 to 65535",
    );
    await expect(operator("models propose-prices gpt --per-request 1 --per-1k 4", KEYS.holder)).rejects.toThrow(
      "the catalog has no gpt; it has llama",
    );
    await expect(operator("models propose-retire qwen3-8b --at tomorrow", KEYS.holder)).rejects.toThrow(
      "with its zone",
    );
    await expect(operator("disputes expire job_1", KEYS.holder)).rejects.toThrow("is not a job id");
    await expect(operator("protocol pause")).rejects.toThrow("set OPERATOR_PRIVATE_KEY");
  });

  it("refuses a node of another chain than the deployment's", async () => {
    const other = { ...p.chain.deployment, startBlockHash: `0x${"11".repeat(32)}` };
    const file = join(p.chain.folder, "other.json");
    writeFileSync(file, JSON.stringify(other));
    const env = { RPC_URL: p.chain.rpcUrl, DEPLOYMENT_FILE: file };
    await expect(runOperator(["models", "list"], env)).rejects.toThrow(/another chain of the id 31337/);
  });
});

describe("the guardian", () => {
  it("pauses and resumes only with --yes, and tells a stranger why not", async () => {
    const shown = await json("protocol pause", KEYS.guardian);
    expect(shown).toMatchObject({
      sent: false,
      contract: "InferenceEscrow",
      function: "setPaused",
      args: [true],
      from: people.guardian.address,
    });
    expect(await locks()).toBe(true);
    await expect(operator("protocol pause --yes", KEYS.stranger)).rejects.toThrow(/would revert: Admin_NotGuardian/);
    expect(await json("protocol pause --yes", KEYS.guardian)).toMatchObject({ sent: true });
    expect(await locks()).toBe(false);
    await operator("protocol resume --yes", KEYS.guardian);
    expect(await locks()).toBe(true);
  });

  it("stops an operator from locking, and only a vote lets it lock again", async () => {
    await expect(operator("operators stop 1 --yes", KEYS.stranger)).rejects.toThrow(/Admin_NotGuardian/);
    await operator("operators stop 1 --yes", KEYS.guardian);
    expect(await locks()).toBe(false);
    const [first] = await json("operators list");
    expect(first).toMatchObject({ operator: 1, stopped: true });
    expect(first.signers.map(({ address }: { address: string }) => address)).toContain(people.gateway.address);
    await decide("operators propose-start 1");
    expect(await locks()).toBe(true);
  });
});

describe("a vote on people", () => {
  it("names another guardian and other arbiters, but never too few", async () => {
    const guardian = () => p.read({ ...p.escrow, functionName: "guardian" });
    for (const { address } of [people.stranger, people.guardian]) {
      await decided(`protocol propose-guardian ${address}`);
      expect(await guardian()).toBe(address);
    }
    const others = Array.from({ length: 3 }, () => privateKeyToAccount(generatePrivateKey()).address);
    const propose = (quorum: number) => `protocol propose-arbiters --arbiters ${others} --quorum ${quorum}`;
    await expect(operator(propose(4), KEYS.holder)).rejects.toThrow("would revert");
    const shown = await json(propose(2), KEYS.holder);
    expect(shown).toMatchObject({ sent: false, description: `Arbiters ${others.join(", ")}, of whom 2 rule` });
  });
});

describe("an operator", () => {
  const adminKey = generatePrivateKey();
  const admin = privateKeyToAccount(adminKey);
  const gatewayKey = generatePrivateKey();
  const gateway = privateKeyToAccount(gatewayKey);
  const newest = async () => (await json("operators list")).at(-1);
  /** The number of the one that is admitted here. */
  let number = 0;

  it("is admitted by a vote", async () => {
    await decided(`operators propose-admit ${admin.address}`);
    await p.rpc.setBalance({ address: admin.address, value: 10n ** 18n });
    number = (await newest()).operator;
    expect(await newest()).toEqual({
      operator: number,
      admin: admin.address,
      stopped: false,
      signers: [],
      reserve: 0,
      held: 0,
      leaving: null,
    });
  });

  it("adds and removes its gateways at once, with their consent", async () => {
    const { signer, signature } = await json(`signers consent ${number}`, gatewayKey);
    expect(signer).toBe(gateway.address);
    const add = `signers rotate ${number} --add ${signer}:${signature} --yes`;
    await expect(operator(add, KEYS.stranger)).rejects.toThrow(/would revert: Operator_NotAdmin/);
    const another = add.replace(signer, people.client.address);
    await expect(operator(another, adminKey)).rejects.toThrow(/would revert: Operator_NoConsent/);
    await operator(add, adminKey);
    expect(await newest()).toMatchObject({ signers: [{ address: signer, gas_wei: "0", removed_at: null }] });
    await operator(`signers rotate ${number} --remove ${signer} --yes`, adminKey);
    expect((await newest()).signers[0].removed_at).toMatch(/Z$/);
  });

  it("is told what is wrong with the keys that it names", async () => {
    const rotate = (more: string) => operator(`signers rotate ${number}${more} --yes`, adminKey);
    await expect(rotate("")).rejects.toThrow("name keys by --add");
    await expect(rotate(` --add ${gateway.address}`)).rejects.toThrow("a consent of 65 bytes");
    await expect(rotate(` --remove ${people.gateway.address}`)).rejects.toThrow(/Operator_NotASigner/);
    await expect(operator("signers consent 160", gatewayKey)).rejects.toThrow(
      `there is no operator 160; ${number} were admitted`,
    );
  });

  it("has a reserve that anyone funds, and that leaves with notice", async () => {
    const { token } = p;
    await p.send(people.svcHolder, token, "mint", [people.svcHolder.address, 5_000_000n]);
    const fund = `reserve fund ${number} 500`;
    const shown = await operator(fund, KEYS.holder);
    expect(shown).toContain("approve(");
    expect(shown).toContain("It will then also send: Add 500 credits");
    await operator(`${fund} --yes`, KEYS.holder);
    expect(await newest()).toMatchObject({ reserve: 500, leaving: null });

    const announce = `reserve announce ${number} 300 --yes`;
    await expect(operator(announce, KEYS.holder)).rejects.toThrow(/Operator_NotAdmin/);
    await operator(announce, adminKey);
    const withdraw = `reserve withdraw ${number} ${gateway.address} --yes`;
    await expect(operator(withdraw, adminKey)).rejects.toThrow(/Operator_ReserveStays/);
    const { leaving } = await newest();
    expect(leaving.credits).toBe(300);
    await p.later(Date.parse(leaving.from) / 1000 - (await p.now()));
    await operator(withdraw, adminKey);
    expect(await newest()).toMatchObject({ reserve: 200, leaving: null });
    expect(await p.read({ ...token, functionName: "balanceOf", args: [gateway.address] })).toBe(3_000_000n);
  });

  it("is handed over by its admin alone, who has no right afterwards", async () => {
    const handOver = `operators hand-over ${number} ${people.stranger.address}`;
    await expect(operator(`${handOver} --yes`, KEYS.guardian)).rejects.toThrow(/Operator_NotAdmin/);
    expect(await json(handOver, adminKey)).toMatchObject({ sent: false, function: "setOperatorAdmin" });
    expect(await newest()).toMatchObject({ admin: admin.address });
    await operator(`${handOver} --yes`, adminKey);
    expect(await newest()).toMatchObject({ admin: people.stranger.address });
    await expect(operator(`${handOver} --yes`, adminKey)).rejects.toThrow(/Operator_NotAdmin/);
  });
});

describe("disputes and the treasury", () => {
  it("an arbiter sees a dispute, votes and rules; its debt is collected later", async () => {
    const { jobId } = await p.settle();
    await p.dispute(people.client, jobId);
    const id = toApiJobId(jobId);
    expect(await json("disputes list")).toMatchObject([
      { job_id: id, opened_by: "wallet", joined_hash: null, credits: 8, bond: 8, quorum: 2, can_expire: false },
    ]);
    await expect(operator(`disputes vote ${id} rejected --yes`, KEYS.stranger)).rejects.toThrow(/Panel_NotAnArbiter/);
    await expect(operator(`disputes expire ${id} --yes`, KEYS.stranger)).rejects.toThrow(/Job_TooEarly/);
    // The treasury has less than the charge of 80,000 units.
    await operator(`disputes vote ${id} worker-at-fault --yes`, KEYS.arbiters[0]);
    await operator(`disputes vote ${id} worker-at-fault --yes`, KEYS.arbiters[1]);
    expect(await json("disputes list")).toEqual([]);
    const { debts } = await json("treasury show");
    expect(debts).toMatchObject([{ job_id: id, to: "client" }]);
    await expect(operator(`treasury collect ${id} --yes`, KEYS.stranger)).rejects.toThrow(/Dispute_NothingPaid/);
    await p.send(people.stranger, p.token, "mint", [p.chain.deployment.contracts.ProtocolTreasury, 1_000_000n]);
    await operator(`treasury collect ${id} --yes`, KEYS.stranger);
    expect(await json("treasury show")).toMatchObject({
      debts: [],
      fee_bps: 1_000,
      operator_share_percent: 0,
      compensation_cap: 20_000,
    });
  });

  it("an operator's disputes wait for their wallets; several end at once", async () => {
    const jobs = [(await p.settle()).jobId, (await p.settle()).jobId];
    for (const jobId of jobs) await p.dispute(people.gateway, jobId);
    await p.join(jobs[1] as Hex, answerHash("what the wallet has"));
    const ids = jobs.map(toApiJobId);
    expect(await json("disputes list")).toMatchObject([
      { job_id: ids[0], opened_by: "operator", joined_hash: null, can_be_ruled: false },
      { job_id: ids[1], opened_by: "operator", joined_hash: answerHash("what the wallet has") },
    ]);
    const reject = `disputes reject ${ids.join(" ")} --yes`;
    await expect(operator(reject, KEYS.arbiters[0])).rejects.toThrow(/Panel_TooEarly/);
    await p.later(90);
    expect(await json("disputes list")).toMatchObject([{ can_be_ruled: true }, { can_be_ruled: true }]);
    for (const key of KEYS.arbiters) await operator(reject, key);
    expect(await json("disputes list")).toEqual([]);
  });

  it("bounds what the treasury pays on a day by vote only", async () => {
    await decided("treasury propose-cap 5000");
    expect(await json("treasury show")).toMatchObject({ compensation_cap: 5_000 });
    await expect(operator("treasury propose-cap 1000001", KEYS.holder)).rejects.toThrow("from 0 to 1000000");
  });

  it("states what SVC is worth by vote only", async () => {
    await decided("workers propose-worth 9000");
    expect(await p.read({ ...p.registry, functionName: "svcWorth" })).toBe(9_000);
    await expect(operator("workers propose-worth 0", KEYS.holder)).rejects.toThrow("from 1 to 4294967295");
  });

  it("pays out by vote only", async () => {
    const { address } = privateKeyToAccount(keccak256(toBytes("a receiver")));
    await expect(operator(`treasury propose-pay stablecoin ${address} 0`, KEYS.holder)).rejects.toThrow("above 0");
    await decided(`treasury propose-pay stablecoin ${address} 500000`);
    expect(await p.read({ ...p.token, functionName: "balanceOf", args: [address] })).toBe(500_000n);
  });
});

describe("the worker pool", () => {
  it("is listed with stake and health, and registered from a file", async () => {
    const privateKey = keccak256(toBytes("a new worker of the operator"));
    const { address } = privateKeyToAccount(privateKey);
    const file = join(p.chain.folder, "pool.json");
    writeFileSync(file, JSON.stringify([{ privateKey, endpoint: "http://127.0.0.1:9", models: ["qwen3-14b"] }]));
    const command = `workers register --workers-file ${file}`;
    expect(await json(command, KEYS.holder)).toEqual({ sent: false, workers: [address] });
    expect(await json("workers list")).toHaveLength(2);
    expect(await json(`${command} --yes`, KEYS.holder)).toMatchObject({ sent: true, workers: [address] });
    expect(await json("workers list")).toMatchObject([
      { id: 1, address: workerKey.address },
      { id: 2 },
      {
        id: 3,
        address,
        state: "active",
        stake_svc: 2_000,
        health: "unreachable",
        models: [4],
        owner: people.svcHolder.address,
      },
    ]);
  });
});

describe("a stranger's registration", () => {
  const signer = privateKeyToAccount(generatePrivateKey());

  it("is a row of its own whatever its endpoint holds, and is not asked", async () => {
    let asked = 0;
    const server = createServer((_, response) => response.end(String(asked++))).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await registerStranger(p, signer, `${url}/\u001b[2K\r\n99  0x0 active`);
      const text = await operator("workers list");
      const row = text.split("\n").find((line) => line.includes(signer.address)) ?? "";
      expect(row).toMatch(/below minimum stake .* not asked .*\\u001b\[2K\\u000d\\u000a99/);
      expect(text).not.toMatch(/[^\P{Cc}\n]/u);
      expect(asked).toBe(0);
    } finally {
      server.close();
    }
  });

  it("is a row that says so if the node cannot read it", async () => {
    const every = Array.from({ length: 65_535 }, (_, i) => i + 1);
    for (let first = 0; first < every.length; first += 10_000) {
      const models = every.slice(first, first + 10_000);
      await p.send(people.stranger, p.registry, "setHosting", [signer.address, models, true]);
    }
    const rows = await json("workers list");
    expect(rows.at(-1)).toMatchObject({ address: signer.address, state: "unreadable", health: null, models: null });
    expect(rows[0]).toMatchObject({ id: 1, state: "active" });
  });
});

describe("a share of the fee", () => {
  it("is decided by vote, earned at settlement, and paid to the admin once vested", async () => {
    await expect(operator("treasury propose-fee 1000 --operator-share 12", KEYS.holder)).rejects.toThrow(
      "a multiple of 5 from 0 to 50",
    );
    const shown = await json("treasury propose-fee 1000 --operator-share 50", KEYS.holder);
    expect(shown).toMatchObject({ sent: false, description: "Protocol fee of 10 %, of which operators have 50 %" });
    await decided("treasury propose-fee 1000 --operator-share 50");
    await p.later(DAY);
    expect(await json("treasury show")).toMatchObject({ fee_bps: 1_000, operator_share_percent: 50 });
    // Without the option the share stays.
    expect(await json("treasury propose-fee 900", KEYS.holder)).toMatchObject({
      description: "Protocol fee of 9 %, of which operators have 50 %",
    });

    expect(await json("earnings list 1")).toEqual([]);
    await p.settle();
    // Half of 10 % of 8 credits.
    const [earned, ...others] = await json("earnings list 1");
    expect([earned, others]).toMatchObject([{ units: "4000", vested: false }, []]);
    expect(await operator("earnings list 1")).toContain(`0.004 USDG  can be withdrawn from ${earned.from}`);
    const receiver = privateKeyToAccount(generatePrivateKey()).address;
    const withdraw = `earnings withdraw 1 ${receiver}`;
    await expect(operator(withdraw, KEYS.stranger)).rejects.toThrow("has no earnings that have vested");
    await p.later(Date.parse(earned.from) / 1000 - (await p.now()));
    expect(await json("earnings list 1")).toMatchObject([{ units: "4000", vested: true }]);
    await expect(operator(`${withdraw} --yes`, KEYS.stranger)).rejects.toThrow(/would revert: Operator_NotAdmin/);
    expect(await json(`${withdraw} --yes`, KEYS.operatorAdmin)).toMatchObject({
      sent: true,
      function: "withdrawEarnings",
      what: `Withdraw 0.004 USDG that operator 1 earned to ${receiver}`,
    });
    expect(await p.read({ ...p.token, functionName: "balanceOf", args: [receiver] })).toBe(4_000n);
    expect(await operator("earnings list 1")).toBe("no earnings");
  });
});

describe("governance", () => {
  it("economics: says which models pay for their settlement at a gas price", async () => {
    const none = await json("economics show --ether-price 3000 --gas-price 100000000 --operator-share 0");
    expect(none).toMatchObject({ operator_share: 0, least_charge: { 1: null, 32: null } });
    expect(none.models.flatMap(({ pays }: { pays: number[] }) => pays)).toEqual([]);
    const all = await json("economics show --ether-price 3000 --gas-price 100000000 --operator-share 50");
    expect(all).toMatchObject({
      gas_price_gwei: "0.1",
      operator_share: 0.05,
      settlement_credits: { 1: 4.832, 32: 2.364 },
    });
    expect(all.least_charge).toEqual({ 1: 97, 8: 53, 32: 48, 64: 47 });
    const lite = all.models.find((one: { tier: string }) => one.tier === "lite");
    const share = lite.credits / 20;
    expect(lite).toMatchObject({ operator_credits: share });
    expect(lite.pays).toEqual([1, 8, 32, 64].filter((jobs) => all.settlement_credits[jobs] <= share));
    expect(await operator("economics show --ether-price 3000")).toContain("gas price");
    await expect(operator("economics show")).rejects.toThrow("--ether-price");
  });

  it("lists a model and changes its price, with the catalog's notice", async () => {
    const listing = "--parameters 4B --owned-by acme --tier standard --per-request 8 --per-1k 4 --context-window 32768";
    await decided(`models propose-add acme-4b ${listing}`);
    expect((await json("models list")).at(-1)).toMatchObject({
      number: 9,
      id: "acme-4b",
      tier: "standard",
      context_window: 32_768,
    });
    await decided("models propose-prices acme-4b --per-request 6 --per-1k 3");
    expect((await json("models list")).at(-1)).toMatchObject({
      credits_per_request: 8,
      next_prices: { credits_per_request: 6 },
    });
    await p.later(DAY);
    expect((await json("models list")).at(-1)).toMatchObject({ credits_per_request: 6, next_prices: null });
  });

  it("retires a model at its date, and refuses an impossible date", async () => {
    const now = await p.now();
    const at = (days: number) => new Date((now + days * DAY) * 1000).toISOString();
    await expect(operator(`models propose-retire qwen3-8b --at ${at(20)} --yes`, KEYS.holder)).rejects.toThrow(
      /too early/,
    );
    await decided(`models propose-retire qwen3-8b --at ${at(40)}`);
    const { retiresAt } = await p.read({ ...p.catalog, functionName: "modelAt", args: [MODEL] });
    await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(retiresAt - 1) });
    expect(await locks()).toBe(true);
    await p.rpc.setNextBlockTimestamp({ timestamp: BigInt(retiresAt) });
    expect(await locks()).toBe(false);
  });
});
