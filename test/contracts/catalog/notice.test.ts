/** How long ahead prices and retirements are announced: decided at deployment, never below a minimum. */

import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare } from "../support/fresh.ts";
import { OTHER_CHAIN_ID, otherChain } from "../support/other-chain.ts";
import { CHAIN_ID } from "../support/world.ts";

const name = ethers.encodeBytes32String;

describe("The notices of the catalog", () => {
  it("are what was deployed", async () => {
    const { catalog } = await freshBare();
    expect([await catalog.priceNotice(), await catalog.retirementNotice()]).to.deep.equal([86_400n, 1_209_600n]);
  });

  for (const [chainId, on, price, retirement] of [
    [CHAIN_ID, ethers, 1, 1],
    // Half a day and fourteen days.
    [OTHER_CHAIN_ID, otherChain, 43_200, 1_209_600],
  ] as const) {
    it(`are ${price} s and ${retirement} s at least on chain ${chainId}`, async () => {
      const [owner] = await on.getSigners();
      const factory = await on.getContractFactory("ModelCatalog");
      const deploy = async (...notices: [number, number]) => {
        if (owner === undefined) throw new Error("too few accounts");
        return await factory.deploy(owner, ...notices);
      };
      const least = await deploy(price, retirement);
      expect([await least.priceNotice(), await least.retirementNotice()]).to.deep.equal(
        [price, retirement].map(BigInt),
      );
      await expectRevert(deploy(price - 1, retirement), "Catalog_InvalidNotice", name("priceNotice"), price - 1, price);
      await expect(deploy(price, retirement - 1))
        .to.be.revertedWithCustomError(factory, "Catalog_InvalidNotice")
        .withArgs(name("retirementNotice"), retirement - 1, retirement);
    });
  }
});
