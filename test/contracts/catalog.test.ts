/** The models, their prices and their retirement. */
import { expect } from "chai";
import { decodeLockTerms } from "../../protocol/words.ts";
import { LAUNCH_MODELS } from "../../scripts/deploy/launch-models.ts";
import { DAY, ethers, mineAt, nextBlockAt, now } from "./support/chain.ts";
import { expectRevert, fieldsOf } from "./support/expect.ts";
import { freshBare, freshWorld } from "./support/fresh.ts";
import { sendLock } from "./support/jobs.ts";
import { OTHER_CHAIN_ID, otherChain } from "./support/other-chain.ts";
import { type BareWorld, CHAIN_ID, LISTING, MODEL } from "./support/world.ts";

const NOTICE = 14 * DAY;

/** Terms of a job locked now; null without any. */
async function termsOf({ catalog }: Pick<BareWorld, "catalog">, model: number) {
  return decodeLockTerms(await catalog.termsOf(model));
}

/** Terms of the tier max at these prices. */
const terms = (creditsPerRequest: number, creditsPer1kTokens: number) => ({
  creditsPerRequest,
  creditsPer1kTokens,
  tier: 3,
});

describe("list", () => {
  it("adds a model under the next number, active at once", async () => {
    const { catalog } = await freshBare();
    const { id, parameters, ownedBy, tier, creditsPerRequest, creditsPer1kTokens, contextWindow } = LISTING;
    await expect(catalog.list(LISTING))
      .to.emit(catalog, "ModelListed")
      .withArgs(9, 1, [id, parameters, ownedBy, tier, creditsPerRequest, creditsPer1kTokens, contextWindow]);
    expect(await catalog.modelCount()).to.equal(9);
    expect(await termsOf({ catalog }, 9)).to.deep.equal({ creditsPerRequest: 2, creditsPer1kTokens: 1, tier: 0 });
    const view = fieldsOf(await catalog.modelAt(9));
    expect(view).to.include({ number: 9n, createdAt: BigInt(await now()), retiresAt: 0n, pricesChangeAt: 0n });
    expect(fieldsOf(view["listing"])).to.include({ id, ownedBy, parameters, contextWindow: 4_096n });
  });

  it("takes an id once, however long ago", async () => {
    const { catalog } = await freshBare();
    await expectRevert(catalog.list({ ...LISTING, id: "qwen3-8b" }), "Catalog_ModelExists", "qwen3-8b");
  });

  it("refuses listings without id, context or price", async () => {
    const { catalog } = await freshBare();
    for (const [id, contextWindow] of [
      ["", 4_096],
      ["tiny", 0],
    ] as const) {
      await expectRevert(catalog.list({ ...LISTING, id, contextWindow }), "Catalog_InvalidListing", id, contextWindow);
    }
    await expectRevert(catalog.list({ ...LISTING, creditsPerRequest: 0 }), "Catalog_InvalidPrice", 0, 1);
    await expectRevert(catalog.list({ ...LISTING, creditsPer1kTokens: 0 }), "Catalog_InvalidPrice", 2, 0);
    await expect(catalog.list({ ...LISTING, tier: 4 })).to.revert(ethers);
  });

  it("has the launch models in their order, with the prices of their tiers", async () => {
    const { catalog } = await freshBare();
    const prices = [
      [2n, 1n],
      [8n, 4n],
      [18n, 9n],
      [40n, 20n],
    ];
    for (const [i, model] of LAUNCH_MODELS.entries()) {
      const { listing } = await catalog.modelAt(i + 1);
      const { id, tier, contextWindow } = model;
      expect(fieldsOf(listing)).to.include({ id, tier: BigInt(tier), contextWindow: BigInt(contextWindow) });
      expect([listing.creditsPerRequest, listing.creditsPer1kTokens]).to.deep.equal(prices[model.tier]);
    }
    expect(await catalog.modelCount()).to.equal(8);
  });
});

describe("schedulePrices", () => {
  it("takes effect after a day, not a second sooner", async () => {
    const { catalog } = await freshBare();
    const announced = (await now()) + 10;
    await nextBlockAt(announced);
    await expect(catalog.schedulePrices(MODEL, 50, 25))
      .to.emit(catalog, "PricesScheduled")
      .withArgs(MODEL, 2, 50, 25, announced + DAY);
    await mineAt(announced + DAY - 1);
    expect(await termsOf({ catalog }, MODEL)).to.deep.equal(terms(40, 20));
    const next = { nextCreditsPerRequest: 50n, nextCreditsPer1kTokens: 25n, pricesChangeAt: BigInt(announced + DAY) };
    const view = fieldsOf(await catalog.modelAt(MODEL));
    expect(view).to.include(next);
    expect(fieldsOf(view["listing"])).to.include({ creditsPerRequest: 40n });
    await mineAt(announced + DAY);
    expect(await termsOf({ catalog }, MODEL)).to.deep.equal(terms(50, 25));
    const changed = fieldsOf(await catalog.modelAt(MODEL));
    expect(changed).to.include({ nextCreditsPerRequest: 0n, pricesChangeAt: 0n });
    expect(fieldsOf(changed["listing"])).to.include({ creditsPerRequest: 50n });
  });

  it("replaces an announcement that is not in force yet, and builds on one that is", async () => {
    const { catalog } = await freshBare();
    await catalog.schedulePrices(MODEL, 50, 25);
    await nextBlockAt((await now()) + DAY - 1);
    await catalog.schedulePrices(MODEL, 60, 30);
    await mineAt((await now()) + 1);
    expect(await termsOf({ catalog }, MODEL)).to.deep.equal(terms(40, 20));
    await nextBlockAt((await now()) + DAY);
    await catalog.schedulePrices(MODEL, 70, 35);
    expect(await termsOf({ catalog }, MODEL)).to.deep.equal(terms(60, 30));
  });

  it("needs a known model and prices above zero", async () => {
    const { catalog } = await freshBare();
    await expectRevert(catalog.schedulePrices(9, 1, 1), "Catalog_UnknownModel", 9);
    await expectRevert(catalog.schedulePrices(0, 1, 1), "Catalog_UnknownModel", 0);
    await expectRevert(catalog.schedulePrices(MODEL, 0, 1), "Catalog_InvalidPrice", 0, 1);
    await expectRevert(catalog.schedulePrices(MODEL, 1, 0), "Catalog_InvalidPrice", 1, 0);
  });
});

/** What an answer of the whole context window may cost: the most that a job can lock. */
describe("A price", () => {
  const LIMIT = 5_000;
  for (const [name, contextWindow, perRequest, per1k, credits] of [
    ["of the tokens at", 250_000, 2, 20, LIMIT],
    ["of the tokens a token above", 250_001, 2, 20, LIMIT + 1],
    ["of the tokens one credit per 1,000 above", 250_000, 2, 21, 5_250],
    ["of a request at", 4_096, LIMIT, 1, LIMIT],
    ["of a request above", 4_096, LIMIT + 1, 1, LIMIT + 1],
    ["of a request of a short context at", 500, LIMIT, 65_535, LIMIT],
    ["of a request of a short context above", 500, LIMIT + 1, 1, LIMIT + 1],
    ["of the 501st token above", 501, 1, 65_535, 32_834],
  ] as const) {
    const good = credits <= LIMIT;
    it(`${name} the limit of a job is ${good ? "taken" : "refused"}, listed or announced`, async () => {
      const { catalog } = await freshBare();
      const prices = { creditsPerRequest: perRequest, creditsPer1kTokens: per1k };
      const listing = catalog.list({ ...LISTING, ...prices, contextWindow });
      if (good) await expect(listing).to.emit(catalog, "ModelListed");
      else {
        await expectRevert(listing, "Catalog_PriceAboveLimit", contextWindow, credits, LIMIT);
      }
      await catalog.list({ ...LISTING, id: "cheap", creditsPerRequest: 1, creditsPer1kTokens: 1, contextWindow });
      const model = await catalog.modelCount();
      const announcing = catalog.schedulePrices(model, perRequest, per1k);
      if (good) await expect(announcing).to.emit(catalog, "PricesScheduled");
      else {
        await expectRevert(announcing, "Catalog_PriceAboveLimit", contextWindow, credits, LIMIT);
      }
    });
  }

  it("that no 32 bits can hold is refused, too", async () => {
    const { catalog } = await freshBare();
    const refused = catalog.list({ ...LISTING, creditsPer1kTokens: 65_535, contextWindow: 2 ** 32 - 1 });
    await expectRevert(refused, "SafeCastOverflowedUintDowncast", 32, 281_470_681_678n);
  });

  it("never ends a model: its longest answer can be locked at the highest price", async () => {
    const { world, catalog } = await freshWorld();
    const { contextWindow } = (await catalog.modelAt(MODEL)).listing;
    await catalog.schedulePrices(MODEL, LIMIT, (BigInt(LIMIT) * 1_000n) / contextWindow);
    await nextBlockAt((await now()) + DAY);
    await sendLock(world, { maxTokens: Number(contextWindow) });
  });
});

describe("scheduleRetirement", () => {
  it("needs fourteen days, not a second less", async () => {
    const { catalog } = await freshBare();
    const announced = (await now()) + 10;
    await nextBlockAt(announced);
    const refused = catalog.scheduleRetirement(MODEL, announced + NOTICE - 1);
    await expectRevert(refused, "Catalog_NoticeTooShort", announced + NOTICE - 1, announced + NOTICE);
    await nextBlockAt(announced + 10);
    await expect(catalog.scheduleRetirement(MODEL, announced + 10 + NOTICE))
      .to.emit(catalog, "RetirementScheduled")
      .withArgs(MODEL, 2, announced + 10 + NOTICE);
    expect((await catalog.modelAt(MODEL)).retiresAt).to.equal(announced + 10 + NOTICE);
  });

  it("ends the model at its time; until then it works and can be given another date", async () => {
    const { catalog } = await freshBare();
    const retiresAt = (await now()) + NOTICE + 100;
    await catalog.scheduleRetirement(MODEL, retiresAt + 1_000);
    await catalog.scheduleRetirement(MODEL, retiresAt);
    await mineAt(retiresAt - 1);
    expect(await termsOf({ catalog }, MODEL)).to.deep.equal(terms(40, 20));
    await mineAt(retiresAt);
    await expectRevert(catalog.scheduleRetirement(MODEL, retiresAt + 2 * NOTICE), "Catalog_AlreadyRetired", MODEL);
    expect(await catalog.termsOf(MODEL)).to.equal(0);
  });

  it("needs a known model", async () => {
    const { catalog } = await freshBare();
    await expectRevert(catalog.scheduleRetirement(9, 2n ** 40n - 1n), "Catalog_UnknownModel", 9);
    await expectRevert(catalog.modelAt(9), "Catalog_UnknownModel", 9);
    expect(await catalog.termsOf(9)).to.equal(0);
  });
});

// How long ahead prices and retirements are announced: decided at deployment, never below a minimum.

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
      const refused = deploy(price, retirement - 1);
      await expectRevert(refused, "Catalog_InvalidNotice", name("retirementNotice"), retirement - 1, retirement);
    });
  }
});
