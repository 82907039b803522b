import { protocolTimelockAbi } from "../../protocol/generated/abi.ts";
import { TIERS, tierName } from "../../protocol/tiers.ts";
import { positional, readChoice, readInteger, readText, readTime } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { OperatorError } from "./errors.ts";
import { propose } from "./proposals.ts";

const HIGHEST_PRICE = 65_535;

async function readModels(operator: Operator) {
  const { catalog } = operator.contracts;
  const count = await operator.client.readContract({ ...catalog, functionName: "modelCount" });
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  return await Promise.all(
    numbers.map((number) => operator.client.readContract({ ...catalog, functionName: "modelAt", args: [number] })),
  );
}

async function readModel(operator: Operator, args: readonly string[]) {
  const id = positional(args, 0, "model id");
  const models = await readModels(operator);
  const found = models.find(({ listing }) => listing.id === id);
  if (found === undefined) {
    throw new OperatorError(`the catalog has no ${id}; it has ${models.map(({ listing }) => listing.id).join(", ")}`);
  }
  return found;
}

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** The catalog with what was announced. */
export async function listModels(operator: Operator): Promise<Output> {
  const list = (await readModels(operator)).map((model) => ({
    number: model.number,
    id: model.listing.id,
    tier: tierName(model.listing.tier),
    credits_per_request: model.listing.creditsPerRequest,
    credits_per_1k_tokens: model.listing.creditsPer1kTokens,
    context_window: model.listing.contextWindow,
    retires_at: model.retiresAt === 0 ? null : iso(model.retiresAt),
    next_prices:
      model.pricesChangeAt === 0
        ? null
        : {
            credits_per_request: model.nextCreditsPerRequest,
            credits_per_1k_tokens: model.nextCreditsPer1kTokens,
            from: iso(model.pricesChangeAt),
          },
  }));
  const text = list.map(
    ({
      number,
      id,
      tier,
      credits_per_request: flat,
      credits_per_1k_tokens: per1k,
      retires_at: end,
      next_prices: next,
    }) =>
      `${number}  ${id.padEnd(32)} ${tier.padEnd(9)} ${flat}/${per1k}${next ? ` → ${next.credits_per_request}/${next.credits_per_1k_tokens} from ${next.from}` : ""}${end ? ` ends ${end}` : ""}`,
  );
  return { text: text.join("\n"), json: list };
}

/** A vote lists a model. */
export async function proposeModel(operator: Operator, args: readonly string[]): Promise<Output> {
  const { flags } = operator;
  const listing = {
    id: positional(args, 0, "model id"),
    parameters: readText(flags["parameters"], "--parameters"),
    ownedBy: readText(flags["owned-by"], "--owned-by"),
    tier: TIERS.indexOf(readChoice(readText(flags["tier"], "--tier"), "--tier", TIERS)),
    ...readPrices(operator),
    contextWindow: readInteger(flags["context-window"], "--context-window", 1, 2 ** 32 - 1),
  };
  const call = { ...operator.contracts.catalog, functionName: "list", args: [listing] };
  return await propose(operator, call, `List model ${listing.id}`);
}

/** A vote announces prices; they hold after the catalog's notice, from the execution on. */
export async function proposePrices(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number, listing } = await readModel(operator, args);
  const { creditsPerRequest, creditsPer1kTokens } = readPrices(operator);
  const call = {
    ...operator.contracts.catalog,
    functionName: "schedulePrices",
    args: [number, creditsPerRequest, creditsPer1kTokens],
  };
  return await propose(
    operator,
    call,
    `Price of ${listing.id}: ${creditsPerRequest} a request, ${creditsPer1kTokens} per 1,000 tokens`,
  );
}

/** A vote ends a model. The notice counts from the execution, which is a vote and a timelock away: that is checked here. */
export async function proposeRetirement(operator: Operator, args: readonly string[]): Promise<Output> {
  const { number, listing } = await readModel(operator, args);
  const retiresAt = readTime(operator.flags["at"], "--at");
  const { catalog, governor } = operator.contracts;
  const { ProtocolTimelock } = operator.deployment.contracts;
  const read = <N extends "votingDelay" | "votingPeriod">(functionName: N) =>
    operator.client.readContract({ ...governor, functionName }).then(Number);
  const [notice, delay, period, block, timelock] = await Promise.all([
    operator.client.readContract({ ...catalog, functionName: "retirementNotice" }),
    read("votingDelay"),
    read("votingPeriod"),
    operator.client.getBlock(),
    operator.client
      .readContract({ address: ProtocolTimelock, abi: protocolTimelockAbi, functionName: "getMinDelay" })
      .then(Number),
  ]);
  const earliest = Number(block.timestamp) + delay + period + timelock + notice;
  if (retiresAt < earliest) {
    throw new OperatorError(
      `--at ${iso(retiresAt)} is too early: vote, timelock and notice take until ${iso(earliest)} at the soonest`,
    );
  }
  const call = { ...catalog, functionName: "scheduleRetirement", args: [number, retiresAt] };
  return await propose(operator, call, `Retire ${listing.id} at ${iso(retiresAt)}`);
}

function readPrices({ flags }: Operator) {
  return {
    creditsPerRequest: readInteger(flags["per-request"], "--per-request", 1, HIGHEST_PRICE),
    creditsPer1kTokens: readInteger(flags["per-1k"], "--per-1k", 1, HIGHEST_PRICE),
  };
}
