import { useQuery } from "@tanstack/react-query";
import { FLAT_TOKENS, quote } from "../../../protocol/pricing.ts";
import { modelsQuery } from "../data/queries.ts";
import type { Model } from "../data/types.ts";
import { CopyButton } from "../ui/copy.tsx";
import { count, credits, moment } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Badge, TierBadge } from "../ui/status.tsx";

export function Models() {
  const models = useQuery(modelsQuery);
  return (
    <Page title="Models" about={<Rule models={models.data?.data ?? []} />}>
      <Card>
        <Loaded query={models} rows={8} height={36}>
          {({ data }) => (data.length === 0 ? <Empty title="The catalog is empty" /> : <ModelTable models={data} />)}
        </Loaded>
      </Card>
    </Page>
  );
}

const EXAMPLE_TOKENS = 900;

/** The rule of the charge, with the dearest model as its example. */
function Rule({ models }: { models: readonly Model[] }) {
  const dearest = models.toSorted((a, b) => b.credits_per_request - a.credits_per_request)[0];
  return (
    <>
      An answer of up to {FLAT_TOKENS} tokens costs the flat price. A longer one costs the price per 1,000 tokens,
      rounded up, but never less than the flat price.
      {dearest === undefined ? null : ` ${exampleOf(dearest)}`}
    </>
  );
}

function exampleOf({ id, credits_per_request: creditsPerRequest, credits_per_1k_tokens: creditsPer1kTokens }: Model) {
  const price = quote(EXAMPLE_TOKENS, { creditsPerRequest, creditsPer1kTokens });
  const byTokens = `⌈${EXAMPLE_TOKENS} × ${creditsPer1kTokens} ÷ 1,000⌉`;
  return `${EXAMPLE_TOKENS} tokens of ${id}: max(${creditsPerRequest}, ${byTokens}) = ${credits(price)}.`;
}

function ModelTable({ models }: { models: readonly Model[] }) {
  return (
    <table className="table">
      <caption className="visually-hidden">Models and prices in credits</caption>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Tier</th>
          <th scope="col" className="end">
            Size
          </th>
          <th scope="col" className="end">
            Context
          </th>
          <th scope="col" className="end">
            Flat price
          </th>
          <th scope="col" className="end">
            1,000 tokens
          </th>
          <th scope="col" className="end">
            Workers
          </th>
        </tr>
      </thead>
      <tbody>
        {models.map((model) => (
          <tr key={model.number} className={model.retired ? "over" : ""}>
            <td data-label="Model">
              <span className="hash">
                <code>{model.id}</code>
                <CopyButton text={model.id} what="model id" />
              </span>
              <Announced model={model} />
            </td>
            <td data-label="Tier">
              <TierBadge tier={model.tier} />
            </td>
            <td data-label="Size" className="end">
              {model.parameters}
            </td>
            <td data-label="Context" className="end">
              {count(model.context_window)}
            </td>
            <td data-label="Flat price" className="end">
              {count(model.credits_per_request)}
            </td>
            <td data-label="1,000 tokens" className="end">
              {count(model.credits_per_1k_tokens)}
            </td>
            <td data-label="Workers" className="end">
              {model.retired ? (
                <Badge tone="bad">retired</Badge>
              ) : model.active_workers > 0 ? (
                <Badge tone="good">{`${model.active_workers} active`}</Badge>
              ) : (
                <Badge tone="mild">none now</Badge>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Changes that governance has announced and that are not in force yet. */
function Announced({ model }: { model: Model }) {
  return (
    <>
      {model.prices_change_at && model.next_credits_per_request !== null ? (
        <p className="hint">
          {model.next_credits_per_request} / {model.next_credits_per_1k_tokens} credits from{" "}
          {moment(model.prices_change_at)}
        </p>
      ) : null}
      {model.retires_at && !model.retired ? <p className="hint">retires {moment(model.retires_at)}</p> : null}
    </>
  );
}
