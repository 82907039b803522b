/** The read-back looks at the chain: it finds what the settings name no less than what they do not. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type Address, encodeFunctionData, type Hex, keccak256, toBytes } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Contracts } from "../../../protocol/deployment.ts";
import { inferenceEscrowAbi, modelCatalogAbi, protocolTimelockAbi } from "../../../protocol/generated/abi.ts";
import { compactSignature } from "../../../protocol/messages.ts";
import { readConfig } from "../../../scripts/deploy/config.ts";
import type { ProtocolSettings } from "../../../scripts/deploy/protocol-settings.ts";
import { checkSettings, checkWiring, DeploymentMismatch } from "../../../scripts/deploy/read-back.ts";
import { runModule } from "../../../scripts/deploy/run-module.ts";
import { signConsent } from "../../../scripts/operator/consent.ts";
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
  async function findings(wanted: Partial<ProtocolSettings> = {}): Promise<string[]> {
    try {
      await checkWiring(chain.client, contracts, settings);
      await checkSettings(chain.client, { contracts, startBlock: 0 }, { ...settings, ...wanted });
      return [];
    } catch (error) {
      expect(error).to.be.instanceOf(DeploymentMismatch);
      return (error as Error).message.split("; ");
    }
  }

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

  it("comes after a deployment that names the error with which a contract refuses its settings", async () => {
    const config = readConfig({ DEPLOY_WINDOWS: '{"unbonding": 1}' }, CHAIN_ID);
    const journal = join(folder, "refused");
    const refused = await runModule({ rpcUrl: chain.rpcUrl, chainId: CHAIN_ID, journal, config }).catch(String);
    expect(refused).to.match(/Protocol#InferenceEscrow.* custom error Admin_InvalidWindow\("unbonding", 1, \d+\)/);
  });

  it("finds a deployment as the settings want it", async () => {
    expect(await findings()).to.deep.equal([]);
  });

  it("sees an extra gateway, and the operator that it signs for: the attack on a read-back that copied the settings", async () => {
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

  it("sees code that was not released, a library of somebody else and a contract that is wired to another one", async () => {
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
});
