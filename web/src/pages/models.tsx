import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { quote } from "../../../protocol/pricing.ts";
import { TIERS } from "../../../protocol/tiers.ts";
import type { Model } from "../../contract.ts";
import { modelsQuery } from "../data/queries.ts";
import { Field, Select, Switch } from "../ui/controls.tsx";
import { count, credits, milliseconds, percent, tokensPerSecond } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Estimator, formula, Hosted, NameAndPrice, pricesOf, useAnswerTokens } from "../ui/price-table.tsx";
import { TierBadge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";

export function Models() {
  const models = useQuery(modelsQuery);
  return (
    <Page title="Models" about="What an answer costs, and how each model answered in the last 24 hours.">
      <Card>
        <Loaded query={models} rows={8} height={36}>
          {({ data }) => (data.length === 0 ? <Empty title="The catalog is empty" /> : <Choice models={data} />)}
        </Loaded>
      </Card>
    </Page>
  );
}

/** The orders of the list: each sorts by a number, the least first; `null` comes last. */
const ORDERS: Record<string, { label: string; of: (model: Model, tokens: number) => number | null }> = {
  catalog: { label: "Catalog", of: ({ number }) => number },
  price: { label: "Price of the answer", of: (model, tokens) => quote(tokens, pricesOf(model)) },
  first: { label: "Time to first token", of: ({ observed_24h }) => observed_24h.first_token_ms },
  speed: { label: "Tokens a second", of: ({ observed_24h }) => negative(observed_24h.tokens_per_second) },
  uptime: { label: "Uptime", of: ({ observed_24h }) => negative(observed_24h.uptime) },
  used: { label: "Most used", of: ({ observed_24h }) => -observed_24h.requests },
  context: { label: "Context", of: ({ context_window }) => -context_window },
};
const negative = (value: number | null): number | null => (value === null ? null : -value);

/** The catalog, filtered and sorted as the address says, so that a choice can be shared. */
function Choice({ models }: { models: readonly Model[] }) {
  const [search, setSearch] = useSearchParams();
  const answer = useAnswerTokens();
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(search);
    if (value === "") next.delete(name);
    else next.set(name, value);
    setSearch(next, { replace: true });
  };
  const [text, tier, sort] = ["q", "tier", "sort"].map((name) => search.get(name) ?? "") as [string, string, string];
  const isNow = search.get("now") === "1";
  const order = ORDERS[sort] ?? (ORDERS["catalog"] as (typeof ORDERS)[string]);
  const shown = models
    .filter(
      (model) =>
        `${model.id} ${model.owned_by}`.toLowerCase().includes(text.toLowerCase()) &&
        (tier === "" || model.tier === tier) &&
        (!isNow || model.active_workers > 0),
    )
    .toSorted(
      (a, b) =>
        (order.of(a, answer.tokens) ?? Infinity) - (order.of(b, answer.tokens) ?? Infinity) || a.number - b.number,
    );
  return (
    <>
      <div className="filters choice">
        <Field
          label="Find"
          placeholder="Name or maker"
          value={text}
          onChange={(event) => set("q", event.target.value)}
        />
        <Select label="Tier" value={tier} onChange={(event) => set("tier", event.target.value)}>
          <option value="">all</option>
          {TIERS.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
        <Select label="Sort by" value={sort || "catalog"} onChange={(event) => set("sort", event.target.value)}>
          {Object.entries(ORDERS).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </Select>
        <Switch label="Can be asked now" checked={isNow} onChange={(checked) => set("now", checked ? "1" : "")} />
      </div>
      <Estimator {...answer} />
      {shown.length === 0 ? (
        <Empty title="No model is like that" />
      ) : (
        <ModelTable models={shown} tokens={answer.tokens} />
      )}
      <p className="hint">
        <Example models={models} tokens={answer.tokens} /> First token, speed, uptime and failed requests are as this
        service's gateways saw them.
      </p>
    </>
  );
}

function ModelTable({ models, tokens }: { models: readonly Model[]; tokens: number }) {
  const columns = [
    "Model",
    { end: `${count(tokens)} tokens` },
    { end: "Context" },
    { end: "First token" },
    { end: "Speed" },
    { end: "Uptime" },
    { end: "Failed" },
    "Tier",
    { end: "Workers" },
  ];
  return (
    <Table caption="Models, their prices in credits, and how they answered in the last 24 hours" columns={columns}>
      {models.map((model) => (
        <Row key={model.number} model={model} tokens={tokens} />
      ))}
    </Table>
  );
}

function Row({ model, tokens }: { model: Model; tokens: number }) {
  const { requests, failures, uptime, first_token_ms, tokens_per_second } = model.observed_24h;
  return (
    <tr className={model.retired ? "over" : ""}>
      <NameAndPrice model={model} tokens={tokens} owner />
      <td className="end">{count(model.context_window)}</td>
      <td className="end">{milliseconds(first_token_ms)}</td>
      <td className="end">{tokensPerSecond(tokens_per_second)}</td>
      <td className="end">{uptime === null ? "–" : percent(uptime)}</td>
      <td className="end">{requests === 0 ? "–" : percent(failures / requests)}</td>
      <td>
        <TierBadge tier={model.tier} />
      </td>
      <td className="end">
        <Hosted model={model} />
      </td>
    </tr>
  );
}

/** The rule of the charge by example: what the dearest model takes for such an answer. */
function Example({ models, tokens }: { models: readonly Model[]; tokens: number }) {
  const dearest = models.toSorted((a, b) => b.credits_per_request - a.credits_per_request)[0];
  if (dearest === undefined) return null;
  const price = credits(quote(tokens, pricesOf(dearest)));
  return <>{`${count(tokens)} tokens of ${dearest.id} cost ${formula(dearest, tokens)} = ${price}.`}</>;
}
