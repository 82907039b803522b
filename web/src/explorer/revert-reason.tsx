import { lazy, Suspense } from "react";
import type { Address, Hex } from "viem";

type Reverted = { data: Hex; called: Address | undefined };

/** The words come with the code for wallets, which only a failed call needs. */
const Words = lazy(async () => {
  const { revertReason } = await import("../wallet/errors.ts");
  return { default: ({ data, called }: Reverted) => <>{revertReason(data, called)}</> };
});

/** Why a contract of ours refused, from the data of its revert. */
export const RevertReason = (reverted: Reverted) => (
  <Suspense fallback="…">
    <Words {...reverted} />
  </Suspense>
);
