import { useQuery } from "@tanstack/react-query";
import { modelsQuery } from "../data/queries.ts";
import type { Model } from "../data/types.ts";
import { CopyButton } from "../ui/copy.tsx";
import { count, moment } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Badge, TierBadge } from "../ui/status.tsx";

export function Models() {
  const models = useQuery(modelsQuery);
  return (
    <Page
      title="Models"
      about="Up to 500 output tokens cost the price per request; above that the price per 1,000 applies."
    >
      <Card>
        <Loaded query={models} rows={8} height={36}>
          {({ data }) => (data.length === 0 ? <Empty title="The catalog is empty" /> : <ModelTable models={data} />)}
        </Loaded>
      </Card>
    </Page>
  );
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
            A request
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
            <td data-label="A request" className="end">
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
