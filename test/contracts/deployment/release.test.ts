/** The sources compile to the committed release: what is audited is what is deployed. */
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import hre from "hardhat";
import { RELEASED } from "../../../contracts/release.ts";
import { releaseFiles } from "../../../scripts/build/release.ts";

const ROOT = new URL("../../../", import.meta.url);
const HELP = "run `npm run compile`, read the diff and commit it";

describe("The release", () => {
  let compiled: Map<string, string>;
  before(async () => {
    compiled = await releaseFiles(hre);
  });

  const files = [...RELEASED, "compiler-input"].map((name) => `contracts/release/${name}.json`);

  for (const file of [...files, "protocol/generated/abi.ts"]) {
    it(`has ${file} byte by byte as the sources compile`, () => {
      const committed = readFileSync(new URL(file, ROOT), "utf8");
      // Not in the assertion: the difference of two such files fills the terminal.
      expect(committed === compiled.get(file), `${file} is not what the sources compile to: ${HELP}`).to.equal(true);
    });
  }

  it("has no other file", () => {
    const found = readdirSync(new URL("contracts/release/", ROOT)).map((name) => `contracts/release/${name}`);
    expect(found, HELP).to.have.members(files);
  });
});
