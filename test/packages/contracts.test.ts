/** `contracts/` as a stranger gets it. */
import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { addresses } from "../../contracts/addresses.ts";
import escrow from "../../contracts/release/InferenceEscrow.json" with { type: "json" };
import published from "../../contracts/vectors.json" with { type: "json" };
import { only, startTestStack } from "../support/stack.ts";
import { type Installed, install } from "./support/install.ts";

let contracts: Installed;
beforeAll(async () => {
  contracts = await install("contracts");
});

describe("the package contracts, installed in an empty folder", () => {
  it("signs every message of the vectors as they say, with viem", async () => {
    const output = await contracts.run(`
      import * as contracts from "${contracts.name}";
      import vectors from "${contracts.name}/vectors.json" with { type: "json" };
      import { hashTypedData } from "viem";
      const types = Object.assign({}, ...Object.entries(contracts).flatMap(([name, value]) => (name.endsWith("Types") ? [value] : [])));
      const domains = {
        escrow: contracts.escrowDomain(31337, "0x" + "11".repeat(20)),
        registry: contracts.registryDomain(31337, "0x" + "22".repeat(20)),
      };
      for (const [primaryType, { domain, message }] of Object.entries(vectors.messages))
        console.log(primaryType, hashTypedData({ domain: domains[domain], types, primaryType, message }));
    `);
    const expected = Object.entries(published.messages).map(([name, { digest }]) => `${name} ${digest}`);
    expect(output.split("\n")).toEqual(expected);
  });

  it("names the contracts of a new local chain, and deploys another escrow there", async () => {
    const stack = await startTestStack({ parts: only("chain", "contracts"), workers: [] });
    try {
      expect(addresses[31_337]).toEqual(stack.info.contracts);
      const output = await contracts.run(`
        import { addresses, inferenceEscrowAbi as abi } from "${contracts.name}";
        import { disputeLogicBytecode, inferenceEscrowBytecode, operatorLogicBytecode } from "${contracts.name}/bytecode";
        import { createTestClient, http, publicActions, walletActions } from "viem";
        const node = createTestClient({ mode: "anvil", transport: http("${stack.info.rpc_url}") }).extend(publicActions).extend(walletActions);
        const [account] = await node.getAddresses();
        const first = addresses[31337];
        const deploy = async (contract) => {
          const hash = await node.deployContract({ ...contract, account, chain: null });
          return (await node.waitForTransactionReceipt({ hash, pollingInterval: 50 })).contractAddress;
        };
        const DisputeLogic = await deploy({ abi: [], bytecode: disputeLogicBytecode });
        const OperatorLogic = await deploy({ abi: [], bytecode: operatorLogicBytecode });
        const windows = { ...(await node.readContract({ address: first.InferenceEscrow, abi, functionName: "windows" })), dispute: 77 };
        const { Stablecoin, ModelCatalog, WorkerRegistry, ArbitrationPanel, ProtocolTreasury } = first;
        const args = [Stablecoin, ModelCatalog, WorkerRegistry, ArbitrationPanel, account, account, ProtocolTreasury, 1000, 500, windows];
        const address = await deploy({ abi, bytecode: inferenceEscrowBytecode({ DisputeLogic, OperatorLogic }), args });
        const { dispute } = await node.readContract({ address, abi, functionName: "windows" });
        console.log(address !== first.InferenceEscrow, dispute);
      `);
      expect(output).toBe("true 77");
    } finally {
      await stack.remove();
    }
  });

  it("has the bytecode that is deployed, the escrow's linked", async () => {
    const output = await contracts.run(`
      import * as code from "${contracts.name}/bytecode";
      import catalog from "${contracts.name}/release/ModelCatalog.json" with { type: "json" };
      const escrow = code.inferenceEscrowBytecode({ DisputeLogic: "0x" + "AB".repeat(20), OperatorLogic: "0x" + "CD".repeat(20) });
      const calls = ["ab", "cd"].map((byte) => escrow.split(byte.repeat(20)).length - 1);
      console.log(/^0x[0-9a-f]+$/.test(escrow), ...calls, catalog.bytecode === code.modelCatalogBytecode);
    `);
    const { DisputeLogic, OperatorLogic } = Object.assign({}, ...Object.values(escrow.linkReferences));
    expect(output).toBe(`true ${DisputeLogic.length} ${OperatorLogic.length} true`);
  });

  it("has sources that a Solidity compiler can import, and none of its own TypeScript", () => {
    const files = readdirSync(contracts.at, { recursive: true, encoding: "utf8" });
    expect(files).toEqual(
      expect.arrayContaining(["README.md", "InferenceEscrow.sol", "interfaces/IInferenceEscrow.sol"]),
    );
    expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([]);
  });
});
