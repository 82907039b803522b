/** The read-back looks at the chain: it finds what the settings name no less than what they do not. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import {
  type Address,
  concat,
  encodeDeployData,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  keccak256,
  pad,
  size,
  toBytes,
  toHex,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { signConsent } from "../../../operator/consent.ts";
import type { Contracts } from "../../../protocol/deployment.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolTimelockAbi,
  serviceTokenAbi,
  testStablecoinAbi,
  workerRegistryAbi,
} from "../../../protocol/generated/abi.ts";
import { compactSignature } from "../../../protocol/messages.ts";
import { readConfig } from "../../../scripts/deploy/config.ts";
import { readHistory } from "../../../scripts/deploy/history.ts";
import type { ProtocolSettings } from "../../../scripts/deploy/protocol-settings.ts";
import { checkSettings, checkWiring, DeploymentMismatch } from "../../../scripts/deploy/read-back.ts";
import { released } from "../../../scripts/deploy/released.ts";
import { runModule } from "../../../scripts/deploy/run-module.ts";
import { mined } from "../../support/mined.ts";
import { someAddress } from "../support/actors.ts";
import { type Anvil, startAnvil } from "../support/anvil.ts";

/** Pays for the deployment and owns the contracts afterwards. */
const OWNER = privateKeyToAccount("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
const CHAIN_ID = 31337;

describe("The read-back of a deployment", function () {
  this.timeout(60_000);
  let folder: string;
  let chain: Anvil;
  let contracts: Contracts;
  let settings: ProtocolSettings;
  let snapshot: Hex;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "read-back-test-"));
    chain = await startAnvil();
    const config = readConfig({ OWNER_ADDRESS: OWNER.address }, CHAIN_ID);
    settings = config.settings;
    contracts = await runModule({ rpcUrl: chain.rpcUrl, chainId: CHAIN_ID, journal: folder, config });
  });
  beforeEach(async () => {
    snapshot = await chain.client.snapshot();
  });
  afterEach(async () => {
    await chain.client.revert({ id: snapshot });
  });
  after(async () => {
    await chain.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What is wrong, one finding each; nothing when all is as it must be. */
  async function allFindings(wanted: Partial<ProtocolSettings> = {}, at = contracts): Promise<string[]> {
    try {
      const made = { contracts: at, startBlock: 0 };
      const history = await readHistory(chain.client, made);
      await checkWiring(chain.client, history, settings);
      await checkSettings(chain.client, made, history, { ...settings, ...wanted });
      return [];
    } catch (error) {
      expect(error).to.be.instanceOf(DeploymentMismatch);
      return (error as Error).message.split("; ");
    }
  }
  const isOfHistory = (finding: string) => / emitted | was created with /.test(finding);
  /** What is wrong with the present state. */
  const findings = async (wanted: Partial<ProtocolSettings> = {}) =>
    (await allFindings(wanted)).filter((finding) => !isOfHistory(finding));
  /** What is wrong with the history; without the words that every such event has. */
  const history = async (wanted: Partial<ProtocolSettings> = {}) =>
    (await allFindings(wanted))
      .filter(isOfHistory)
      .map((finding) => finding.replace(/ in block \d+, which nothing in the settings explains$/, ""));

  async function send(account: typeof OWNER, to: Address, data: Hex): Promise<void> {
    await mined(chain.client, await chain.client.sendTransaction({ account, to, data, chain: null }));
  }
  const call = (functionName: string, args: readonly unknown[]) =>
    encodeFunctionData({ abi: inferenceEscrowAbi, functionName, args } as never);

  /** A key with gas. */
  async function person() {
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.client.setBalance({ address: account.address, value: 10n ** 18n });
    return account;
  }

  /** Bytes of a contract's code exchanged for others of the same length. */
  async function patch(name: keyof Contracts, change: (code: string) => string): Promise<void> {
    const address = contracts[name];
    const code = (await chain.client.getCode({ address })) ?? "0x";
    const bytecode = change(code) as Hex;
    expect(bytecode).to.have.length(code.length).and.not.to.equal(code);
    await chain.client.setCode({ address, bytecode });
  }

  it("follows a deployment that names the error of a refused setting", async () => {
    const config = readConfig({ DEPLOY_WINDOWS: '{"unbonding": 1}' }, CHAIN_ID);
    const journal = join(folder, "refused");
    const refused = await runModule({ rpcUrl: chain.rpcUrl, chainId: CHAIN_ID, journal, config }).catch(String);
    expect(refused).to.match(/Protocol#InferenceEscrow.* custom error Admin_InvalidWindow\("unbonding", 1, \d+\)/);
  });

  it("finds a deployment as the settings want it", async () => {
    expect(await allFindings()).to.deep.equal([]);
  });

  it("sees an extra gateway, and the operator that it signs for", async () => {
    const [admin, gateway] = [await person(), await person()];
    await send(OWNER, contracts.InferenceEscrow, call("admitOperator", [admin.address]));
    const place = { chainId: CHAIN_ID, escrow: contracts.InferenceEscrow };
    const consent = compactSignature(await signConsent(gateway, place, { operator: 2, admin: admin.address }));
    const rotate = (added: Address[], consents: unknown[], removed: Address[]) =>
      send(admin, contracts.InferenceEscrow, call("rotateSigners", [2, added, consents, removed]));
    await rotate([gateway.address], [consent], []);
    expect(await findings()).to.have.members([
      `${admin.address} is admin of operator 2`,
      `${gateway.address} is signer of operator 2`,
    ]);
    expect(await findings({ operators: [...settings.operators, admin.address] })).to.deep.equal([
      `${gateway.address} is signer of operator 2`,
    ]);
    const [who, key] = [admin.address.toLowerCase(), gateway.address.toLowerCase()];
    expect(await history()).to.deep.equal([
      `InferenceEscrow emitted OperatorAdmitted(operator=2, admin=${who}, sequence=6)`,
      `InferenceEscrow emitted SignerAdded(operator=2, signer=${key}, sequence=1)`,
    ]);

    await rotate([], [], [gateway.address]);
    expect(await findings()).to.deep.equal([`${admin.address} is admin of operator 2`]);
  });

  it("sees an operator that is missing, or has another admin", async () => {
    const operators = [...settings.operators, someAddress("second")];
    expect(await findings({ operators })).to.deep.equal([`${someAddress("second")} is not admin of operator 2`]);
    expect(await findings({ operators: [someAddress("first")] })).to.have.members([
      `${settings.operators[0]} is admin of operator 1`,
      `${someAddress("first")} is not admin of operator 1`,
    ]);
  });

  it("sees another guardian, owner, arbiter and holder of a timelock role", async () => {
    await send(OWNER, contracts.InferenceEscrow, call("setGuardian", [someAddress("guardian")]));
    await send(OWNER, contracts.ModelCatalog, call("transferOwnership", [someAddress("owner")]));
    await chain.client.setBalance({ address: contracts.ProtocolTimelock, value: 10n ** 18n });
    await chain.client.impersonateAccount({ address: contracts.ProtocolTimelock });
    const grant = await chain.client.writeContract({
      account: contracts.ProtocolTimelock,
      address: contracts.ProtocolTimelock,
      abi: protocolTimelockAbi,
      functionName: "grantRole",
      args: [keccak256(toBytes("PROPOSER_ROLE")), someAddress("proposer")],
      chain: null,
    });
    await mined(chain.client, grant);
    expect(await findings({ arbiters: settings.arbiters.slice(1) })).to.have.members([
      `${someAddress("guardian")} is guardian`,
      `${settings.guardian} is not guardian`,
      `${someAddress("owner")} is owner of ModelCatalog`,
      `${OWNER.address} is not owner of ModelCatalog`,
      `${someAddress("proposer")} is timelock proposer`,
      `${settings.arbiters[0]} is arbiter`,
    ]);
  });

  it("sees other figures than the settings', among them a model that nobody wanted", async () => {
    await send(OWNER, contracts.InferenceEscrow, call("setCompensationCap", [7]));
    await send(OWNER, contracts.InferenceEscrow, call("setPaused", [true]));
    const listing = {
      id: "acme",
      parameters: "1B",
      ownedBy: "acme",
      tier: 0,
      creditsPerRequest: 1,
      creditsPer1kTokens: 1,
      contextWindow: 1_000,
    };
    const list = encodeFunctionData({ abi: modelCatalogAbi, functionName: "list", args: [listing] });
    await send(OWNER, contracts.ModelCatalog, list);
    const found = await findings({ minimumStake: 1n });
    expect(found).to.include("the compensation cap is 7, wanted 20000");
    expect(found).to.include("the pause is false,true, wanted false,false");
    expect(found).to.include("the minimum stake is 1000000000, wanted 1");
    expect(found.filter((finding) => finding.startsWith("model "))).to.satisfy(
      ([only, ...others]: string[]) => others.length === 0 && /^model 9 is .*acme.*, wanted none$/.test(only ?? ""),
    );
  });

  it("sees foreign code, a foreign library and a contract wired to another one", async () => {
    await patch("WorkerRegistry", (code) => code.replace(/..$/, (last) => (last === "00" ? "01" : "00")));
    await patch("InferenceEscrow", (code) =>
      code.replace(contracts.DisputeLogic.slice(2).toLowerCase(), someAddress("library").slice(2).toLowerCase()),
    );
    expect(await findings()).to.have.members(
      (["InferenceEscrow", "WorkerRegistry"] as const).map(
        (name) => `the code of ${name} ${contracts[name]} is not that of contracts/release/${name}.json`,
      ),
    );
    await chain.client.revert({ id: snapshot });
    snapshot = await chain.client.snapshot();
    const [coin, other] = [contracts.Stablecoin, someAddress("coin")];
    await patch("ProtocolTreasury", (code) =>
      code.replaceAll(coin.slice(2).toLowerCase(), other.slice(2).toLowerCase()),
    );
    expect(await findings()).to.deep.equal([`the treasury's stablecoin is ${other}, wanted ${coin}`]);
  });

  describe("against a deployer who means harm", () => {
    const EMPTY = `0x${"0".repeat(64)}` as const;

    it("sees a takeover that waits in the timelock, though all roles look right", async () => {
      const attacker = await person();
      const timelock = contracts.ProtocolTimelock;
      await chain.client.setBalance({ address: timelock, value: 10n ** 18n });
      await chain.client.impersonateAccount({ address: timelock });
      const proposer = [keccak256(toBytes("PROPOSER_ROLE")), attacker.address] as const;
      const asAdmin = async (functionName: "grantRole" | "revokeRole") => {
        const at = { account: timelock, address: timelock, abi: protocolTimelockAbi, chain: null } as const;
        await mined(chain.client, await chain.client.writeContract({ ...at, functionName, args: proposer }));
      };
      const takeover = call("admitOperator", [attacker.address]);
      await asAdmin("grantRole");
      const args = [contracts.InferenceEscrow, 0n, takeover, EMPTY, EMPTY, 172_800n] as const;
      await send(attacker, timelock, encodeFunctionData({ abi: protocolTimelockAbi, functionName: "schedule", args }));
      await asAdmin("revokeRole");

      expect(await findings()).to.deep.equal([]);
      const found = await history();
      const [who, admin] = [attacker.address.toLowerCase(), timelock.toLowerCase()];
      expect(found).to.have.length(3);
      expect(found[0]).to.equal(
        `ProtocolTimelock emitted RoleGranted(role=${proposer[0]}, account=${who}, sender=${admin})`,
      );
      expect(found[1])
        .to.match(/^ProtocolTimelock emitted CallScheduled\(id=0x[0-9a-f]{64}, /)
        .and.to.contain(`data=InferenceEscrow.admitOperator(${who})`)
        .and.to.contain("delay=172800");
      expect(found[2]).to.contain("RoleRevoked");
    });

    it("sees announced fees, prices, retirements and stake terms", async () => {
      await send(OWNER, contracts.InferenceEscrow, call("scheduleFee", [2_000, 10]));
      const catalog = (functionName: "schedulePrices" | "scheduleRetirement", args: readonly unknown[]) =>
        send(OWNER, contracts.ModelCatalog, encodeFunctionData({ abi: modelCatalogAbi, functionName, args } as never));
      await catalog("schedulePrices", [8, 30, 60]);
      await catalog("scheduleRetirement", [1, 4_000_000_000]);
      const terms = encodeFunctionData({ abi: workerRegistryAbi, functionName: "scheduleStakeTerms", args: [2n, 1n] });
      await send(OWNER, contracts.WorkerRegistry, terms);
      const worth = encodeFunctionData({ abi: workerRegistryAbi, functionName: "scheduleSvcWorth", args: [99_999] });
      await send(OWNER, contracts.WorkerRegistry, worth);

      expect(await findings()).to.deep.equal([]);
      const found = (await history()).map((line) => line.replace(/(effectiveAt)=\d{10}/, "$1=later"));
      expect(found).to.deep.equal([
        "InferenceEscrow emitted FeeScheduled(sequence=6, feeBps=2000, operatorShare=10, effectiveAt=later)",
        "ModelCatalog emitted PricesScheduled(model=8, sequence=2, creditsPerRequest=30, creditsPer1kTokens=60, effectiveAt=later)",
        "ModelCatalog emitted RetirementScheduled(model=1, sequence=2, retiresAt=4000000000)",
        "WorkerRegistry emitted StakeTermsScheduled(sequence=3, minimumStake=2, slashAmount=1, effectiveAt=later)",
        "WorkerRegistry emitted SvcWorthScheduled(sequence=4, creditsPer1kSvc=99999, effectiveAt=later)",
      ]);
    });

    it("sees a deployment call that was sent twice or with other arguments", async () => {
      const admit = (admin: Address) => send(OWNER, contracts.InferenceEscrow, call("admitOperator", [admin]));
      const [named, other] = [settings.operators[0] as Address, someAddress("other")];
      await admit(named);
      await admit(other);
      expect(await history()).to.deep.equal([
        `InferenceEscrow emitted OperatorAdmitted(operator=2, admin=${named.toLowerCase()}, sequence=6)`,
        `InferenceEscrow emitted OperatorAdmitted(operator=3, admin=${other.toLowerCase()}, sequence=7)`,
      ]);
    });

    it("does not let a stranger's deposit keep a deployment from ending", async () => {
      const stranger = await person();
      const mint = encodeFunctionData({
        abi: testStablecoinAbi,
        functionName: "mint",
        args: [stranger.address, 1_000_000n],
      });
      await send(stranger, contracts.Stablecoin, mint);
      const allow = [contracts.InferenceEscrow, 1_000_000n] as const;
      await send(
        stranger,
        contracts.Stablecoin,
        encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: allow }),
      );
      await send(stranger, contracts.InferenceEscrow, call("deposit", [100, 0]));
      expect(await allFindings()).to.deep.equal([]);
    });

    it("sees who else has more than one percent of all SVC, or of all votes", async () => {
      const holder = settings.serviceTokenHolder;
      const [buyer, small, delegate] = [someAddress("buyer"), someAddress("small"), someAddress("delegate")];
      await chain.client.impersonateAccount({ address: holder });
      const svc = async (functionName: "transfer" | "delegate", args: readonly unknown[]) => {
        const data = encodeFunctionData({ abi: serviceTokenAbi, functionName, args } as never);
        const sent = { account: holder, to: contracts.ServiceToken, data, chain: null };
        await mined(chain.client, await chain.client.sendTransaction(sent));
      };
      const percent = 10n ** 25n;
      await svc("transfer", [small, percent]);
      await svc("transfer", [buyer, percent + 10n ** 23n]);
      expect(await allFindings()).to.deep.equal([`${buyer} has 1.01 % of all SVC, and no setting names it`]);
      await svc("delegate", [delegate]);
      expect(await allFindings()).to.deep.equal([
        `${buyer} has 1.01 % of all SVC, and no setting names it`,
        `${delegate} has 97.99 % of all votes, and no setting names it`,
      ]);
    });

    it("sees that all SVC was minted to somebody else", async () => {
      const [is, wanted] = [settings.serviceTokenHolder, someAddress("holder")];
      expect(await allFindings({ serviceTokenHolder: wanted })).to.have.members([
        `ServiceToken was created with holder ${is.toLowerCase()}, wanted ${wanted.toLowerCase()}`,
        `${is} has 100.00 % of all SVC, and no setting names it`,
      ]);
    });

    it("sees arbiters that another creation code planted in storage", async () => {
      const attacker = await person();
      const config = readConfig({ OWNER_ADDRESS: OWNER.address }, CHAIN_ID);
      const { deployer, arbiters, arbiterQuorum } = config.settings;
      const panel = released("ArbitrationPanel");
      const abi = arbitrationPanelAbi;
      const bytecode = panel.bytecode as Hex;
      // What the constructor does runs as it should, from a contract of the attacker's: bytes after 10 that return them.
      const honest = encodeDeployData({ abi, bytecode, args: [deployer, [...arbiters], arbiterQuorum] });
      const helper = concat(["0x61", toHex(size(honest), { size: 2 }), "0x80600a5f395ff3", honest]);
      const made = await mined(
        chain.client,
        await chain.client.sendTransaction({ account: attacker, data: helper, chain: null }),
      );
      // sstore(slot, 1); delegatecall(helper); return what it returned.
      const slot = BigInt(panel.storageLayout.storage.find(({ label }) => label === "_isArbiter")?.slot ?? -1);
      const word = (value: bigint | Address) => pad(typeof value === "bigint" ? toHex(value) : value);
      const planted = keccak256(concat([word(attacker.address), keccak256(concat([word(1n), word(slot)]))]));
      const creation = concat([
        ...(["0x60017f", planted, "0x55"] as const),
        ...(["0x5f5f5f5f73", made.contractAddress as Address, "0x5af4503d5f5f3e3d5ff3"] as const),
      ]);
      const at = await runModule({
        rpcUrl: chain.rpcUrl,
        chainId: CHAIN_ID,
        journal: join(folder, "planted"),
        config,
        artifactOf: (name) => (name === "ArbitrationPanel" ? { ...panel, bytecode: creation } : released(name)),
      });
      expect(await chain.client.getStorageAt({ address: at.ArbitrationPanel, slot: planted })).to.equal(word(1n));
      const [first] = await chain.client.getContractEvents({ address: at.ArbitrationPanel, abi, fromBlock: 0n });
      expect(await allFindings({}, at)).to.deep.equal([
        `the creation code of ArbitrationPanel ${at.ArbitrationPanel} is not that of contracts/release/ArbitrationPanel.json: its first event is of transaction ${first?.transactionHash}`,
      ]);
    });
  });
});
