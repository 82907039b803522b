/** scripts/deploy.ts as it is run: a process, an environment, a node. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { parseDeployment } from "../../../protocol/deployment.ts";
import { modelCatalogAbi, testStablecoinAbi } from "../../../protocol/generated/abi.ts";
import { RELEASED, released } from "../../../scripts/deploy/released.ts";
import { mined } from "../../support/mined.ts";
import { someAddress } from "../support/actors.ts";
import { type Anvil, startAnvil } from "../support/anvil.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

describe("scripts/deploy.ts", function () {
  this.timeout(600_000);
  let folder: string;
  let file: string;
  let chain: Anvil;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "deploy-test-"));
    file = join(folder, "deployment.json");
  });
  afterEach(async () => {
    await chain.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function start(env: Record<string, string> = {}): ChildProcess {
    const { PATH } = process.env;
    const base = {
      PATH,
      RPC_URL: chain.rpcUrl,
      DEPLOYMENT_FILE: file,
      NODE_COMPILE_CACHE: join(ROOT, "node_modules/.cache/compiled"),
    };
    return spawn(process.execPath, [join(ROOT, "scripts/deploy.ts")], {
      env: { ...base, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async function run(env: Record<string, string> = {}): Promise<{ code: number; output: string }> {
    const script = start(env);
    let output = "";
    for (const stream of [script.stdout, script.stderr])
      stream?.on("data", (data: Buffer) => (output += data.toString()));
    const [code] = (await once(script, "close")) as [number];
    return { code, output };
  }

  const deployment = () => parseDeployment(readFileSync(file, "utf8"), file);

  /** Each released contract was created once, from the bytecode that was audited. */
  async function expectReleasedBytecode(height: number): Promise<void> {
    const blocks = await Promise.all(
      Array.from({ length: height }, (_, i) =>
        chain.client.getBlock({ blockNumber: BigInt(i + 1), includeTransactions: true }),
      ),
    );
    const sent = blocks.flatMap(({ transactions }) => transactions.map(({ input }) => input));
    for (const { contractName, bytecode } of RELEASED.map(released)) {
      // Up to the first address of a library, which is filled in.
      const [code = ""] = bytecode.split("__$");
      expect(
        sent.filter((input) => input.startsWith(code)),
        contractName,
      ).to.have.length(1);
    }
  }

  /** The chain loses its last blocks, and then everything: each time it is deployed anew, and that is said. */
  async function expectNewDeployments(): Promise<void> {
    await chain.client.request({ method: "anvil_rollback" as never, params: [6] as never });
    rmSync(file);
    const rolledBack = await run();
    expect(rolledBack.code, rolledBack.output).to.equal(0);
    expect(rolledBack.output).to.contain("deploying anew");
    const { contracts, startBlockHash } = deployment();
    const models = { address: contracts.ModelCatalog, abi: modelCatalogAbi, functionName: "modelCount" } as const;
    expect(await chain.client.readContract(models)).to.equal(8);

    await chain.stop();
    chain = await startAnvil({ port: chain.port, args: ["--timestamp", "1700000000"] });
    const lost = await run();
    expect(lost.code, lost.output).to.equal(0);
    expect(lost.output).to.contain("is out of date").and.to.contain("journal is dropped");
    expect(deployment().startBlockHash).not.to.equal(startBlockHash);
  }

  /** A deployment that dies while the transactions of the seven contracts that need no other wait in the pool. */
  async function expectKilled(): Promise<void> {
    const script = start();
    for (let i = 0; i < 400 && (await chain.client.getTxpoolStatus()).pending < 7; i++) await sleep(25);
    // A moment later the journal knows of them, too.
    await sleep(500);
    const sent = (await chain.client.getTxpoolStatus()).pending;
    script.kill("SIGKILL");
    await once(script, "close");
    expect(sent).to.equal(7);
    expect(existsSync(file)).to.equal(false);
    await chain.client.setAutomine(true);
    await chain.client.mine({ blocks: 1 });
  }

  it("finishes a killed deployment once; a lost development chain gets it anew", async () => {
    chain = await startAnvil({ args: ["--no-mining"] });
    const before = await chain.client.getBlock();
    await expectKilled();
    const finished = await run();
    expect(finished).to.include({ code: 0 });
    const holder = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC has 100.00 % of all SVC";
    expect(finished.output).to.contain(`deploy: ${holder}`);
    // 11 contracts, 3 times setEscrow, 3 roles of the timelock, an operator, 8 models, 5 hand-overs: nothing was sent twice.
    const nonce = await chain.client.getTransactionCount({ address: privateKeyToAccount(KEY).address });
    expect(nonce).to.equal(11 + 3 + 3 + 1 + 8 + 5);
    const { startBlock, startBlockHash, chainId, contracts } = deployment();
    expect({ startBlock, startBlockHash, chainId }).to.deep.equal({
      startBlock: Number(before.number),
      startBlockHash: before.hash,
      chainId: 31337,
    });
    for (const address of Object.values(contracts)) expect(await chain.client.getCode({ address })).to.match(/^0x6/);
    const height = await chain.client.getBlockNumber();
    await expectReleasedBytecode(Number(height));

    const again = await run({ GUARDIAN_ADDRESS: someAddress("guardian") });
    expect(again).to.include({ code: 0 });
    expect(again.output).to.contain("deployed already").and.to.contain(`deploy: ${holder}`);
    const differences = again.output.split("\n").filter((line) => line.includes("other than the settings"));
    expect(differences.join("\n")).to.contain(`other than the settings: ${someAddress("guardian")} is not guardian`);
    expect(differences.filter((line) => !line.includes("guardian"))).to.deep.equal([]);
    const refused = await run({ OPERATOR_ADMIN_ADDRESSES: someAddress("another") });
    expect(refused.code).to.equal(1);
    expect(refused.output)
      .to.contain(`${someAddress("another")} of OPERATOR_ADMIN_ADDRESSES administers no operator`)
      .and.to.contain(`operators propose-admit ${someAddress("another")}`);
    expect(await chain.client.getBlockNumber({ cacheTime: 0 })).to.equal(height);

    await expectNewDeployments();
  });

  it("names a node that does not answer", async () => {
    chain = await startAnvil();
    await chain.stop();
    const { code, output } = await run();
    expect(code).to.equal(1);
    expect(output).to.contain(`no node answers at RPC_URL (127.0.0.1:${chain.port})`);
  });

  it("deploys on a real chain with a key and a stablecoin, once for a file", async () => {
    chain = await startAnvil({ args: ["--chain-id", "4242"] });
    const account = privateKeyToAccount(KEY);
    const bytecode = released("TestStablecoin").bytecode as Hex;
    const hash = await chain.client.deployContract({ abi: testStablecoinAbi, bytecode, account, chain: null });
    const coin = (await mined(chain.client, hash)).contractAddress;
    const env = {
      DEPLOYER_PRIVATE_KEY: KEY,
      STABLECOIN_ADDRESS: coin ?? "",
      OPERATOR_ADMIN_ADDRESSES: someAddress("admin"),
      GUARDIAN_ADDRESS: someAddress("guardian"),
      SERVICE_TOKEN_HOLDER_ADDRESS: someAddress("holder"),
      ARBITER_ADDRESSES: someAddress("arbiter"),
    };
    const first = await run(env);
    expect(first.code, first.output).to.equal(0);
    expect(deployment().contracts.Stablecoin.toLowerCase()).to.equal(coin);
    const written = readFileSync(file, "utf8");
    await chain.client.request({
      method: "anvil_setCode" as never,
      params: [deployment().contracts.InferenceEscrow, "0x"] as never,
    });
    const again = await run(env);
    expect(again.code).to.equal(1);
    expect(again.output).to.contain("no code at InferenceEscrow").and.to.contain("move the file away");
    expect(readFileSync(file, "utf8")).to.equal(written);
  });
});
