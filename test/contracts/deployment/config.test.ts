import { expect } from "chai";
import { DEFAULT_DURATIONS } from "../../../contracts/ignition/settings.ts";
import { ConfigError, type Env, readConfig, readTarget } from "../../../scripts/deploy/config.ts";
import { someAddress } from "../support/actors.ts";

const KEY = `0x${"11".repeat(32)}`;
const KEY_ADDRESS = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const GATEWAYS = `${someAddress("a")},${someAddress("b")}`;
const MAINNET: Env = {
  GATEWAY_ADDRESSES: GATEWAYS,
  DEPLOYER_PRIVATE_KEY: KEY,
  STABLECOIN_ADDRESS: someAddress("coin"),
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
  it("need nothing but gateways on the development chain", () => {
    const { settings } = readConfig({ GATEWAY_ADDRESSES: GATEWAYS }, 31337);
    const first = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    expect(settings).to.deep.equal({
      deployer: first,
      owner: first,
      guardian: first,
      serviceTokenHolder: first,
      stablecoin: null,
      gateways: [someAddress("a"), someAddress("b")],
      feeBps: 1_000,
      minimumStake: 1_000_000_000n,
      durations: DEFAULT_DURATIONS,
    });
  });

  it("take key and stablecoin from the environment everywhere else, by name", () => {
    expect(errorOf({ GATEWAY_ADDRESSES: GATEWAYS }, 1)).to.contain("DEPLOYER_PRIVATE_KEY is required");
    expect(errorOf({ GATEWAY_ADDRESSES: GATEWAYS, DEPLOYER_PRIVATE_KEY: KEY }, 1)).to.contain(
      "STABLECOIN_ADDRESS is required",
    );
    const { settings } = readConfig(MAINNET, 1);
    expect([settings.deployer, settings.stablecoin]).to.deep.equal([KEY_ADDRESS, someAddress("coin")]);
  });

  it("give governance the SVC supply where money is real, the deployer on the development chain", () => {
    const owner = someAddress("owner");
    expect(readConfig({ ...MAINNET, OWNER_ADDRESS: owner }, 1).settings).to.include({
      owner,
      guardian: owner,
      serviceTokenHolder: owner,
    });
    expect(readConfig({ ...MAINNET, OWNER_ADDRESS: owner }, 31337).settings.serviceTokenHolder).to.equal(KEY_ADDRESS);
    expect(readConfig({ ...MAINNET, GUARDIAN_ADDRESS: someAddress("guardian") }, 1).settings.guardian).to.equal(
      someAddress("guardian"),
    );
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

  it("have a fee from 0 to 2,000 hundredths of a percent", () => {
    for (const [text, fee] of [
      ["0", 0],
      ["2000", 2_000],
    ] as const)
      expect(readConfig({ ...MAINNET, FEE_BPS: text }, 1).settings.feeBps).to.equal(fee);
    for (const text of ["2001", "-1", "1.5", "x"])
      expect(errorOf({ ...MAINNET, FEE_BPS: text }, 1)).to.contain("FEE_BPS");
  });

  it("name the variable whose address or key is malformed", () => {
    expect(errorOf({ ...MAINNET, OWNER_ADDRESS: "0x12" }, 1)).to.contain('OWNER_ADDRESS: "0x12"');
    expect(errorOf({ ...MAINNET, GATEWAY_ADDRESSES: "" }, 1)).to.contain("GATEWAY_ADDRESSES is required");
    expect(errorOf({ ...MAINNET, GATEWAY_ADDRESSES: `${someAddress("a")},` }, 1)).to.contain("GATEWAY_ADDRESSES");
    expect(errorOf({ ...MAINNET, GATEWAY_ADDRESSES: `${someAddress("a")}, ${someAddress("a")}` }, 1)).to.contain(
      "twice",
    );
    expect(errorOf({ ...MAINNET, DEPLOYER_PRIVATE_KEY: "0x12" }, 1)).to.contain("DEPLOYER_PRIVATE_KEY");
    expect(() => readTarget({ RPC_URL: "x" })).to.throw(ConfigError, "DEPLOYMENT_FILE is required");
    expect(() => readTarget({ DEPLOYMENT_FILE: "x" })).to.throw(ConfigError, "RPC_URL is required");
  });
});
