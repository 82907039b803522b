/** The sources compile to the committed release: what is audited is what is deployed. */
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import hre from "hardhat";
import { RELEASED } from "../../../contracts/release.ts";
import { releaseFiles } from "../../../scripts/build/release.ts";
import { TEST_CONTRACTS, testContractFiles } from "../../../scripts/build/test-contracts.ts";

const ROOT = new URL("../../../", import.meta.url);
const HELP = "run `npm run compile`, read the diff and commit it";

describe("The release", function () {
  this.timeout(300_000);
  let compiled: Map<string, string>;
  before(async () => {
    compiled = new Map([...(await releaseFiles(hre)), ...testContractFiles()]);
  });

  const released = [...RELEASED, "compiler-input"].map((name) => `contracts/release/${name}.json`);
  const ofTests = Object.keys(TEST_CONTRACTS).map((name) => `test/support/contracts/${name}.json`);

  for (const file of [...released, "protocol/generated/abi.ts", ...ofTests]) {
    it(`has ${file} byte by byte as the sources compile`, () => {
      const committed = readFileSync(new URL(file, ROOT), "utf8");
      // Not in the assertion: the difference of two such files fills the terminal.
      expect(committed === compiled.get(file), `${file} is not what the sources compile to: ${HELP}`).to.equal(true);
    });
  }

  it("has no other file", () => {
    const found = readdirSync(new URL("contracts/release/", ROOT)).map((name) => `contracts/release/${name}`);
    expect(found, HELP).to.have.members(released);
  });
});
