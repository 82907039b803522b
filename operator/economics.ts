/** What a job earns its operator, and what its settlement costs. */
import { formatGwei } from "viem";
import { tierName } from "../protocol/tiers.ts";
import { type Group, whole } from "./command.ts";
import { readModels } from "./governance.ts";
import type { Operator } from "./operator.ts";

/** Gas of a fused job by the number of jobs in its transaction; a test compares it with docs/gas.md. */
export const JOB_GAS = { 1: 150_659n, 8: 85_549n, 32: 77_686n, 64: 76_376n } as const;
const BATCHES = Object.keys(JOB_GAS).map(Number) as (keyof typeof JOB_GAS)[];

/** Credits are shown in thousandths. */
const MILLI = 1_000n;
/** A credit is a hundredth of the stablecoin. */
const CREDITS = 100n;
const ETHER = 10n ** 18n;

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
    .action(
      show(async (operator, { etherPrice, gasPrice }) => {
        const json = await read(operator, etherPrice, gasPrice === undefined ? undefined : BigInt(gasPrice));
        return { text: asText(json), json };
      }),
    );
};

async function read(operator: Operator, etherPrice: number, given?: bigint) {
  const [models, feeBps, gasPrice] = await Promise.all([
    readModels(operator),
    operator.escrow.read.feeBps(),
    given ?? operator.client.getGasPrice(),
  ]);
  const prices = { etherPrice: BigInt(etherPrice), gasPrice };
  const cost = Object.fromEntries(BATCHES.map((jobs) => [jobs, gasCost(JOB_GAS[jobs], prices)]));
  return {
    gas_price_gwei: formatGwei(gasPrice),
    ether_price: etherPrice,
    operator_share: feeBps / 10_000,
    settlement_credits: Object.fromEntries(BATCHES.map((jobs) => [jobs, credits(cost[jobs] ?? 0n)])),
    /** The smallest charge whose share pays for its settlement. */
    least_charge: Object.fromEntries(
      BATCHES.map((jobs) => [jobs, Number(ceil((cost[jobs] ?? 0n) * 10_000n, BigInt(feeBps) * MILLI))]),
    ),
    models: models.map(({ listing }) => {
      const share = (BigInt(listing.creditsPerRequest) * MILLI * BigInt(feeBps)) / 10_000n;
      return {
        id: listing.id,
        tier: tierName(listing.tier),
        credits: listing.creditsPerRequest,
        operator_credits: credits(share),
        /** Gas prices, in gwei, up to which the operator's share pays for the settlement. */
        pays_up_to_gwei: Object.fromEntries(
          BATCHES.map((jobs) => [jobs, formatGwei(breakEven(share, JOB_GAS[jobs], prices.etherPrice))]),
        ),
        pays: BATCHES.filter((jobs) => share >= (cost[jobs] ?? 0n)),
      };
    }),
  };
}

const credits = (milli: bigint): number => Number(milli) / Number(MILLI);
/** A share of 0 pays for nothing: no charge is enough. */
const ceil = (a: bigint, b: bigint): bigint | number => (b === 0n ? Number.POSITIVE_INFINITY : (a + b - 1n) / b);

function asText(all: Awaited<ReturnType<typeof read>>): string {
  const columns = (of: (jobs: number) => string) => BATCHES.map((jobs) => of(jobs).padStart(12)).join("");
  const head = `gas price ${all.gas_price_gwei} gwei, ${all.ether_price} stablecoins a unit of currency, operator's share ${all.operator_share * 100} %`;
  const rows = all.models.map(
    ({ id, tier, credits: price, operator_credits: share, pays_up_to_gwei: gwei, pays }) =>
      `${id.padEnd(30)} ${tier.padEnd(9)}${String(price).padStart(7)}${share.toFixed(1).padStart(8)}${columns((jobs) => `${Number(gwei[jobs]).toPrecision(3)}${pays.includes(jobs as keyof typeof JOB_GAS) ? " " : "!"}`)}`,
  );
  return [
    head,
    "",
    `${"jobs a transaction".padEnd(55)}${columns(String)}`,
    `${"settlement of a job, credits".padEnd(55)}${columns((jobs) => (all.settlement_credits[jobs] ?? 0).toFixed(3))}`,
    `${"least charge that pays for it, credits".padEnd(55)}${columns((jobs) => String(all.least_charge[jobs]))}`,
    "",
    `${"model".padEnd(30)} ${"tier".padEnd(9)}${"price".padStart(7)}${"share".padStart(8)}   pays up to this gas price, gwei (! = not now)`,
    ...rows,
  ].join("\n");
}
