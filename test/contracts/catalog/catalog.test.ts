import { expect } from "chai";
import { LAUNCH_MODELS } from "../../../contracts/ignition/launch-models.ts";
import { ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { freshBare } from "../support/fresh.ts";
import { MODEL } from "../support/world.ts";

const DAY = 86_400;
const NOTICE = 14 * DAY;
const LISTING = {
  id: "tiny",
  parameters: "1B",
  ownedBy: "someone",
  tier: 0,
  creditsPerRequest: 2,
  creditsPer1kTokens: 1,
  contextWindow: 4_096,
};

describe("list", () => {
  it("adds a model under the next number, active at once", async () => {
    const { catalog } = await freshBare();
    const { id, parameters, ownedBy, tier, creditsPerRequest, creditsPer1kTokens, contextWindow } = LISTING;
    await expect(catalog.list(LISTING))
      .to.emit(catalog, "ModelListed")
      .withArgs(9, 1, [id, parameters, ownedBy, tier, creditsPerRequest, creditsPer1kTokens, contextWindow]);
    expect(await catalog.modelCount()).to.equal(9);
    expect(await catalog.termsOf(9)).to.deep.equal([true, 0n, 2n, 1n]);
    const view = await catalog.modelAt(9);
    expect([view.number, view.createdAt, view.retiresAt, view.pricesChangeAt]).to.deep.equal([
      9n,
      BigInt(await now()),
      0n,
      0n,
    ]);
    expect([view.listing.id, view.listing.ownedBy, view.listing.parameters, view.listing.contextWindow]).to.deep.equal([
      id,
      ownedBy,
      parameters,
      4_096n,
    ]);
  });

  it("takes an id once, however long ago", async () => {
    const { catalog } = await freshBare();
    await expect(catalog.list({ ...LISTING, id: "qwen3-8b" }))
      .to.be.revertedWithCustomError(catalog, "Catalog_ModelExists")
      .withArgs("qwen3-8b");
  });

  it("refuses listings without id, context or price", async () => {
    const { catalog } = await freshBare();
    await expect(catalog.list({ ...LISTING, id: "" })).to.be.revertedWithCustomError(catalog, "Catalog_InvalidListing");
    await expect(catalog.list({ ...LISTING, contextWindow: 0 })).to.be.revertedWithCustomError(
      catalog,
      "Catalog_InvalidListing",
    );
    await expect(catalog.list({ ...LISTING, creditsPerRequest: 0 }))
      .to.be.revertedWithCustomError(catalog, "Catalog_InvalidPrice")
      .withArgs(0, 1);
    await expect(catalog.list({ ...LISTING, creditsPer1kTokens: 0 }))
      .to.be.revertedWithCustomError(catalog, "Catalog_InvalidPrice")
      .withArgs(2, 0);
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
      expect([listing.id, listing.tier, listing.contextWindow]).to.deep.equal([
        model.id,
        BigInt(model.tier),
        BigInt(model.contextWindow),
      ]);
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
    expect(await catalog.termsOf(MODEL)).to.deep.equal([true, 3n, 40n, 20n]);
    let view = await catalog.modelAt(MODEL);
    expect([
      view.listing.creditsPerRequest,
      view.nextCreditsPerRequest,
      view.nextCreditsPer1kTokens,
      view.pricesChangeAt,
    ]).to.deep.equal([40n, 50n, 25n, BigInt(announced + DAY)]);
    await mineAt(announced + DAY);
    expect(await catalog.termsOf(MODEL)).to.deep.equal([true, 3n, 50n, 25n]);
    view = await catalog.modelAt(MODEL);
    expect([view.listing.creditsPerRequest, view.nextCreditsPerRequest, view.pricesChangeAt]).to.deep.equal([
      50n,
      0n,
      0n,
    ]);
  });

  it("replaces an announcement that is not in force yet, and builds on one that is", async () => {
    const { catalog } = await freshBare();
    await catalog.schedulePrices(MODEL, 50, 25);
    await nextBlockAt((await now()) + DAY - 1);
    await catalog.schedulePrices(MODEL, 60, 30);
    await mineAt((await now()) + 1);
    expect(await catalog.termsOf(MODEL)).to.deep.equal([true, 3n, 40n, 20n]);
    await nextBlockAt((await now()) + DAY);
    await catalog.schedulePrices(MODEL, 70, 35);
    expect(await catalog.termsOf(MODEL)).to.deep.equal([true, 3n, 60n, 30n]);
  });

  it("needs a known model and prices above zero", async () => {
    const { catalog } = await freshBare();
    await expect(catalog.schedulePrices(9, 1, 1))
      .to.be.revertedWithCustomError(catalog, "Catalog_UnknownModel")
      .withArgs(9);
    await expect(catalog.schedulePrices(0, 1, 1))
      .to.be.revertedWithCustomError(catalog, "Catalog_UnknownModel")
      .withArgs(0);
    await expect(catalog.schedulePrices(MODEL, 0, 1))
      .to.be.revertedWithCustomError(catalog, "Catalog_InvalidPrice")
      .withArgs(0, 1);
    await expect(catalog.schedulePrices(MODEL, 1, 0))
      .to.be.revertedWithCustomError(catalog, "Catalog_InvalidPrice")
      .withArgs(1, 0);
  });
});

describe("scheduleRetirement", () => {
  it("needs fourteen days, not a second less", async () => {
    const { catalog } = await freshBare();
    const announced = (await now()) + 10;
    await nextBlockAt(announced);
    await expect(catalog.scheduleRetirement(MODEL, announced + NOTICE - 1))
      .to.be.revertedWithCustomError(catalog, "Catalog_NoticeTooShort")
      .withArgs(announced + NOTICE - 1, announced + NOTICE);
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
    expect(await catalog.termsOf(MODEL)).to.deep.equal([true, 3n, 40n, 20n]);
    await mineAt(retiresAt);
    await expect(catalog.scheduleRetirement(MODEL, retiresAt + 2 * NOTICE))
      .to.be.revertedWithCustomError(catalog, "Catalog_AlreadyRetired")
      .withArgs(MODEL);
    expect(await catalog.termsOf(MODEL)).to.deep.equal([false, 0n, 0n, 0n]);
  });

  it("needs a known model", async () => {
    const { catalog } = await freshBare();
    await expect(catalog.scheduleRetirement(9, 2n ** 40n - 1n))
      .to.be.revertedWithCustomError(catalog, "Catalog_UnknownModel")
      .withArgs(9);
    await expect(catalog.modelAt(9)).to.be.revertedWithCustomError(catalog, "Catalog_UnknownModel").withArgs(9);
    expect(await catalog.termsOf(9)).to.deep.equal([false, 0n, 0n, 0n]);
  });
});

describe("The catalog", () => {
  it("is governance's", async () => {
    const { catalog, stranger, guardian, gateway } = await freshBare();
    for (const caller of [stranger, guardian, gateway]) {
      const mine = catalog.connect(caller);
      for (const attempt of [
        mine.list(LISTING),
        mine.schedulePrices(MODEL, 1, 1),
        mine.scheduleRetirement(MODEL, 2n ** 40n - 1n),
      ]) {
        await expect(attempt)
          .to.be.revertedWithCustomError(catalog, "OwnableUnauthorizedAccount")
          .withArgs(caller.address);
      }
    }
  });
});
