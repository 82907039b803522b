/** What a thousand charged jobs bring an operator after their gas. */
import { expect, it } from "vitest";
import { ofThousand } from "../../../../web/src/pages/operator/thousand.ts";

const day = { jobs_24h: 3, failed_24h: 0, credits_24h: 24, fee_units_24h: 24_000, earned_24h: 12_000 };
const gas = (wei: string | null) => ({ jobs: 3, wei_per_job: wei });

it("takes the gas at the reader's price from the operator's part of the fee", () => {
  // 10^9 wei a job are 10^12 a thousand: a millionth of a coin, 0.003 USDG at 3,000.
  expect(ofThousand(day, gas("1000000000"), 3_000)).toEqual({
    charged: 80_000_000n,
    fee: 8_000_000n,
    earned: 4_000_000n,
    wei: 10n ** 12n,
    gas: 3_000n,
    margin: 3_997_000n,
  });
});

it("counts the gas of jobs that ended without a charge, and rounds it up", () => {
  expect(ofThousand({ ...day, failed_24h: 3 }, gas("1"), 1)).toMatchObject({
    wei: 2_000n,
    gas: 1n,
    margin: 3_999_999n,
  });
});

it("can be a loss", () => {
  expect(ofThousand(day, gas("10000000000000"), 3_000)?.margin).toBe(4_000_000n - 30_000_000n);
});

it("is unknown without a charged job, or without its gas", () => {
  expect(ofThousand({ ...day, jobs_24h: 0 }, gas("1"), 1)).toBeNull();
  expect(ofThousand(day, gas(null), 1)).toBeNull();
});
