import { expect } from "chai";
import { ConfigError, type Env, readConfig, readTarget } from "../../../scripts/deploy/config.ts";
import { protocolModule } from "../../../scripts/deploy/protocol-module.ts";
import { DEFAULT_DURATIONS, DEFAULT_GOVERNANCE } from "../../../scripts/deploy/protocol-settings.ts";
import { someAddress } from "../support/actors.ts";

const KEY = `0x${"11".repeat(32)}`;
const KEY_ADDRESS = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const ADMINS = `${someAddress("a")},${someAddress("b")}`;
const ROLES: Env = {
  GUARDIAN_ADDRESS: someAddress("guardian"),
  SERVICE_TOKEN_HOLDER_ADDRESS: someAddress("holder"),
  ARBITER_ADDRESSES: ["x", "y", "z", "w"].map(someAddress).join(),
};
const MAINNET: Env = {
  OPERATOR_ADMIN_ADDRESSES: ADMINS,
  DEPLOYER_PRIVATE_KEY: KEY,
  STABLECOIN_ADDRESS: someAddress("coin"),
  ...ROLES,
};

function errorOf(env: Env, chainId: number): string {
  try {
    readConfig(env, chainId);
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError);
    return (error as Error).message;
  }
  return "no error";
}

describe("Settings of a deployment", () => {
  it("admit at least one operator: without any, no job could ever be locked", () => {
    const { settings } = readConfig({}, 31337);
    expect(() => protocolModule({ ...settings, operators: [] })).to.throw("without an operator");
  });

  it("need nothing on the development chain", () => {
    const { settings } = readConfig({}, 31337);
    expect(settings).to.deep.equal({
      deployer: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      owner: null,
      guardian: "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
      serviceTokenHolder: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
      stablecoin: null,
      operators: ["0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"],
      feeBps: 1_000,
      compensationCap: 20_000,
      minimumStake: 1_000_000_000n,
      slashAmount: 500_000_000n,
      creditsPer1kSvc: 10_000,
      arbiters: [
        "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
        "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
        "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
      ],
      arbiterQuorum: 2,
      governance: DEFAULT_GOVERNANCE,
      durations: DEFAULT_DURATIONS,
    });
  });

  it("take key and stablecoin from the environment everywhere else, by name", () => {
    expect(errorOf({ OPERATOR_ADMIN_ADDRESSES: ADMINS }, 1)).to.contain("DEPLOYER_PRIVATE_KEY is required");
    expect(errorOf({ ...ROLES, OPERATOR_ADMIN_ADDRESSES: ADMINS, DEPLOYER_PRIVATE_KEY: KEY }, 1)).to.contain(
      "STABLECOIN_ADDRESS is required",
    );
    const { settings } = readConfig(MAINNET, 1);
    expect([settings.deployer, settings.stablecoin]).to.deep.equal([KEY_ADDRESS, someAddress("coin")]);
  });

  it("name guardian, first holder of SVC and arbiters everywhere else", () => {
    for (const name of Object.keys(ROLES)) {
      expect(errorOf({ ...MAINNET, [name]: undefined }, 1)).to.contain(`${name} is required`);
    }
    expect(errorOf({ ...MAINNET, OPERATOR_ADMIN_ADDRESSES: "" }, 1)).to.contain("OPERATOR_ADMIN_ADDRESSES is required");
    const { settings } = readConfig(MAINNET, 1);
    expect(settings).to.include({ guardian: someAddress("guardian"), serviceTokenHolder: someAddress("holder") });
    expect(settings.arbiters).to.have.length(4);
    expect(settings.operators).to.deep.equal([someAddress("a"), someAddress("b")]);
  });

  it("make more than half of the arbiters a quorum", () => {
    expect(readConfig(MAINNET, 1).settings.arbiterQuorum).to.equal(3);
    expect(readConfig({ ...MAINNET, ARBITER_QUORUM: "4" }, 1).settings.arbiterQuorum).to.equal(4);
    for (const quorum of ["2", "5", "x"])
      expect(errorOf({ ...MAINNET, ARBITER_QUORUM: quorum }, 1)).to.contain("ARBITER_QUORUM");
  });

  it("may have another owner and shorter votes on the development chain only", () => {
    const env = { ...MAINNET, OWNER_ADDRESS: someAddress("owner"), DEPLOY_GOVERNANCE: '{"votingPeriod": 60}' };
    const { settings } = readConfig(env, 31337);
    expect(settings.owner).to.equal(someAddress("owner"));
    expect(settings.governance).to.deep.equal({ ...DEFAULT_GOVERNANCE, votingPeriod: 60 });
    expect(readConfig(MAINNET, 1).settings.owner).to.equal(null);
    expect(errorOf(env, 1)).to.contain("OWNER_ADDRESS is for tests");
    expect(errorOf({ ...env, OWNER_ADDRESS: undefined }, 1)).to.contain("DEPLOY_GOVERNANCE is for tests");
  });

  it("shorten windows on the development chain only", () => {
    const env = { ...MAINNET, DEPLOY_WINDOWS: '{"completion": 5, "unbonding": 100000}' };
    expect(readConfig(env, 31337).settings.durations).to.deep.equal({
      ...DEFAULT_DURATIONS,
      completion: 5,
      unbonding: 100_000,
    });
    expect(errorOf(env, 1)).to.contain("DEPLOY_WINDOWS is for tests");
    expect(errorOf({ ...MAINNET, DEPLOY_WINDOWS: '{"complet": 5}' }, 31337)).to.contain("complet");
    expect(errorOf({ ...MAINNET, DEPLOY_WINDOWS: '{"completion": -1}' }, 31337)).to.contain("completion");
    expect(errorOf({ ...MAINNET, DEPLOY_WINDOWS: "5" }, 31337)).to.contain("DEPLOY_WINDOWS");
    expect(errorOf({ ...MAINNET, DEPLOY_WINDOWS: "{" }, 31337)).to.contain("not JSON");
  });

  it("have a worth of 1,000 SVC from 1 to 4,294,967,295 credits", () => {
    const worth = (text: string) => readConfig({ ...MAINNET, CREDITS_PER_1K_SVC: text }, 1).settings.creditsPer1kSvc;
    expect([worth("1"), worth("4294967295")]).to.deep.equal([1, 4_294_967_295]);
    for (const text of ["0", "4294967296"])
      expect(errorOf({ ...MAINNET, CREDITS_PER_1K_SVC: text }, 1)).to.contain("from 1 to 4294967295");
  });

  it("have a fee of 0 to 2,000 hundredths of a percent and a cap up to 1,000,000", () => {
    const numbers = (name: string, text: string) => {
      const { feeBps, compensationCap } = readConfig({ ...MAINNET, [name]: text }, 1).settings;
      return [feeBps, compensationCap];
    };
    expect(numbers("FEE_BPS", "0")).to.deep.equal([0, 20_000]);
    expect(numbers("FEE_BPS", "2000")).to.deep.equal([2_000, 20_000]);
    expect(numbers("COMPENSATION_CAP", "0")).to.deep.equal([1_000, 0]);
    expect(numbers("COMPENSATION_CAP", "1000000")).to.deep.equal([1_000, 1_000_000]);
    for (const [name, most] of [
      ["FEE_BPS", 2_000],
      ["COMPENSATION_CAP", 1_000_000],
    ] as const)
      for (const text of [String(most + 1), "-1", "1.5", "x"])
        expect(errorOf({ ...MAINNET, [name]: text }, 1)).to.equal(
          `${name}=${text} must be a whole number from 0 to ${most}`,
        );
  });

  it("name the variable whose address or key is malformed", () => {
    expect(errorOf({ ...MAINNET, OWNER_ADDRESS: "0x12" }, 1)).to.contain('OWNER_ADDRESS: "0x12"');
    const admins = (text: string) => errorOf({ ...MAINNET, OPERATOR_ADMIN_ADDRESSES: text }, 1);
    expect(admins(`${someAddress("a")},`)).to.contain("OPERATOR_ADMIN_ADDRESSES");
    expect(admins(`${someAddress("a")}, ${someAddress("a")}`)).to.contain("twice");
    expect(errorOf({ ...MAINNET, DEPLOYER_PRIVATE_KEY: "0x12" }, 1)).to.contain("DEPLOYER_PRIVATE_KEY");
    expect(() => readTarget({ RPC_URL: "http://127.0.0.1:8545" })).to.throw(ConfigError, "DEPLOYMENT_FILE is required");
    expect(() => readTarget({ RPC_URL: "x", DEPLOYMENT_FILE: "x" })).to.throw(ConfigError, "RPC_URL is not a URL");
    expect(() => readTarget({ DEPLOYMENT_FILE: "x" })).to.throw(ConfigError, "RPC_URL is required");
  });
});
