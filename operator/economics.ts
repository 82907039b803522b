/** The operator's earnings by a job, and the cost of its settlement. */
import { formatGwei } from "viem";
import { tierName } from "../protocol/tiers.ts";
import { oneLine } from "../shared/one-line.ts";
import { type Group, share, whole } from "./command.ts";
import { readModels } from "./governance.ts";
import type { Operator } from "./operator.ts";

/** Gas of a fused job that earns its operator a part of the fee, by the number of jobs in its transaction; a test compares it with docs/gas.md. */
export const JOB_GAS = { 1: 161_056n, 8: 87_546n, 32: 78_783n, 64: 77_323n } as const;
const BATCHES = Object.keys(JOB_GAS).map(Number) as (keyof typeof JOB_GAS)[];

/** Credits are shown in thousandths. */
const MILLI = 1_000n;
/** A credit is a hundredth of the stablecoin. */
const CREDITS = 100n;
const ETHER = 10n ** 18n;
/** Hundredths of a percent of a charge, times twentieths of the fee. */
const WHOLE = 200_000;

/** `etherPrice`: whole stablecoins for a unit of the chain's currency. `gasPrice`: wei. */
type Prices = { etherPrice: bigint; gasPrice: bigint };

/** Thousandths of a credit that so much gas costs, rounded up. */
export function gasCost(gas: bigint, { etherPrice, gasPrice }: Prices): bigint {
  return (gas * gasPrice * etherPrice * CREDITS * MILLI + ETHER - 1n) / ETHER;
}

/** The highest gas price, in wei, at which so many thousandths of a credit pay for the gas. */
export function breakEven(earned: bigint, gas: bigint, etherPrice: bigint): bigint {
  return (earned * ETHER) / (gas * etherPrice * CREDITS * MILLI);
}

export const economics: Group = (program, { show }) => {
  program
    .command("economics")
    .description("what jobs earn")
    .command("show")
    .description("what a job earns its operator and what its settlement costs, by model and batch")
    .requiredOption("--ether-price <N>", "price of the chain's currency in stablecoins", whole(1, 10_000_000))
    .option("--gas-price <WEI>", "price of gas (default: the node's)", whole(0, 1e14))
    .option("--operator-share <PERCENT>", "of the fee, for operators (default: as in force)", share)
    .action(
      show(async (operator, { etherPrice, gasPrice, operatorShare }) => {
        const given = { gasPrice: gasPrice === undefined ? undefined : BigInt(gasPrice), operatorShare };
        const json = await read(operator, etherPrice, given);
        return { text: asText(json), json };
      }),
    );
};

type Given = { gasPrice: bigint | undefined; operatorShare: number | undefined };

async function read(operator: Operator, etherPrice: number, given: Given) {
  const [models, feeBps, operatorShare, gasPrice] = await Promise.all([
    readModels(operator),
    operator.escrow.read.feeBps(),
    given.operatorShare ?? operator.escrow.read.operatorShare(),
    given.gasPrice ?? operator.client.getGasPrice(),
  ]);
  const prices = { etherPrice: BigInt(etherPrice), gasPrice };
  // The operator's earnings by 200,000 credits: the fee is in hundredths of a percent, and the operator's share in twentieths of it.
  const part = feeBps * operatorShare;
  const cost = Object.fromEntries(BATCHES.map((jobs) => [jobs, gasCost(JOB_GAS[jobs], prices)]));
  return {
    gas_price_gwei: formatGwei(gasPrice),
    ether_price: etherPrice,
    /** The operator's share of a charge. */
    operator_share: part / WHOLE,
    settlement_credits: Object.fromEntries(BATCHES.map((jobs) => [jobs, credits(cost[jobs] ?? 0n)])),
    /** The smallest charge of which the operator's part pays for its settlement; null where operators earn nothing. */
    least_charge: Object.fromEntries(
      BATCHES.map((jobs) => [jobs, Number(ceil((cost[jobs] ?? 0n) * BigInt(WHOLE), BigInt(part) * MILLI))]),
    ),
    models: models.map(({ listing }) => {
      const earned = (BigInt(listing.creditsPerRequest) * MILLI * BigInt(part)) / BigInt(WHOLE);
      return {
        id: listing.id,
        tier: tierName(listing.tier),
        credits: listing.creditsPerRequest,
        operator_credits: credits(earned),
        /** Gas prices, in gwei, up to which the operator's part pays for the settlement. */
        pays_up_to_gwei: Object.fromEntries(
          BATCHES.map((jobs) => [jobs, formatGwei(breakEven(earned, JOB_GAS[jobs], prices.etherPrice))]),
        ),
        pays: BATCHES.filter((jobs) => earned >= (cost[jobs] ?? 0n)),
      };
    }),
  };
}

const credits = (milli: bigint): number => Number(milli) / Number(MILLI);
/** A share of 0 pays for nothing: no charge is enough. */
const ceil = (a: bigint, b: bigint): bigint | number => (b === 0n ? Number.POSITIVE_INFINITY : (a + b - 1n) / b);

function asText(all: Awaited<ReturnType<typeof read>>): string {
  const columns = (of: (jobs: number) => string) => BATCHES.map((jobs) => of(jobs).padStart(12)).join("");
  const head = `gas price ${all.gas_price_gwei} gwei, ${all.ether_price} stablecoins a unit of currency, operators earn ${all.operator_share * 100} % of a charge`;
  const rows = all.models.map(
    ({ id, tier, credits: price, operator_credits: earned, pays_up_to_gwei: gwei, pays }) =>
      `${oneLine(id).padEnd(30)} ${tier.padEnd(9)}${String(price).padStart(7)}${earned.toFixed(1).padStart(8)}${columns((jobs) => `${Number(gwei[jobs]).toPrecision(3)}${pays.includes(jobs as keyof typeof JOB_GAS) ? " " : "!"}`)}`,
  );
  return [
    head,
    "",
    `${"jobs a transaction".padEnd(55)}${columns(String)}`,
    `${"settlement of a job, credits".padEnd(55)}${columns((jobs) => (all.settlement_credits[jobs] ?? 0).toFixed(3))}`,
    `${"least charge that pays for it, credits".padEnd(55)}${columns((jobs) => String(all.least_charge[jobs]))}`,
    "",
    `${"model".padEnd(30)} ${"tier".padEnd(9)}${"price".padStart(7)}${"earned".padStart(8)}   pays up to this gas price, gwei (! = not now)`,
    ...rows,
  ].join("\n");
}
