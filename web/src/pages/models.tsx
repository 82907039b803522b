import { useQuery } from "@tanstack/react-query";
import { quote } from "../../../protocol/pricing.ts";
import { modelsQuery } from "../data/queries.ts";
import type { Model } from "../data/types.ts";
import { credits } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { formula, PriceTable, pricesOf } from "../ui/price-table.tsx";

export function Models() {
  const models = useQuery(modelsQuery);
  return (
    <Page title="Models" about={<Example models={models.data?.data ?? []} />}>
      <Card>
        <Loaded query={models} rows={8} height={36}>
          {({ data }) => (data.length === 0 ? <Empty title="The catalog is empty" /> : <PriceTable models={data} />)}
        </Loaded>
      </Card>
    </Page>
  );
}

const EXAMPLE_TOKENS = 900;

/** The rule of the charge by example: what the dearest model takes. */
function Example({ models }: { models: readonly Model[] }) {
  const dearest = models.toSorted((a, b) => b.credits_per_request - a.credits_per_request)[0];
  if (dearest === undefined) return null;
  const price = quote(EXAMPLE_TOKENS, pricesOf(dearest));
  return <>{`${EXAMPLE_TOKENS} tokens of ${dearest.id}: ${formula(dearest, EXAMPLE_TOKENS)} = ${credits(price)}.`}</>;
}
