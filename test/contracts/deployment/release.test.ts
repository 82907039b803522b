/** The sources compile to the committed release: what is audited is what is deployed. */
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import hre from "hardhat";
import { releaseFiles } from "../../../scripts/build/release.ts";
import { inputHash, TEST_CONTRACTS } from "../../../scripts/build/test-contracts.ts";
import { RELEASED } from "../../../scripts/deploy/released.ts";

const ROOT = new URL("../../../", import.meta.url);
const HELP = "run `npm run compile`, read the diff and commit it";

describe("The release", function () {
  this.timeout(300_000);
  let compiled: Map<string, string>;
  before(async () => {
    compiled = await releaseFiles(hre);
  });

  const released = [...RELEASED, "compiler-input"].map((name) => `contracts/release/${name}.json`);

  for (const file of [...released, "protocol/generated/abi.ts"]) {
    it(`has ${file} byte by byte as the sources compile`, () => {
      const committed = readFileSync(new URL(file, ROOT), "utf8");
      // Not in the assertion: the difference of two such files fills the terminal.
      expect(committed === compiled.get(file), `${file} is not what the sources compile to: ${HELP}`).to.equal(true);
    });
  }

  for (const name of Object.keys(TEST_CONTRACTS)) {
    it(`stands beside a test/support/contracts/${name}.json of the same sources`, () => {
      const committed = readFileSync(new URL(`test/support/contracts/${name}.json`, ROOT), "utf8");
      const { sources, inputHash: hash } = JSON.parse(committed) as { sources: string[]; inputHash: string };
      expect(hash === inputHash(sources), `${name} is not of the present sources: ${HELP}`).to.equal(true);
    });
  }

  it("leaves each contract 2 kB of the 24,576 bytes that a chain takes", () => {
    for (const name of RELEASED) {
      const { deployedBytecode } = JSON.parse(compiled.get(`contracts/release/${name}.json`) ?? "");
      expect(deployedBytecode.length / 2 - 1, name).to.be.at.most(24_576 - 2_048);
    }
  });

  it("has no other file", () => {
    const found = readdirSync(new URL("contracts/release/", ROOT)).map((name) => `contracts/release/${name}`);
    expect(found, HELP).to.have.members(released);
  });
});
