import { useState } from "react";
import { FLAT_TOKENS, type Prices, quote } from "../../../protocol/pricing.ts";
import type { Model } from "../../contract.ts";
import { Field } from "./controls.tsx";
import { CopyButton } from "./copy.tsx";
import { count, moment, USDG_IS, usdg } from "./format.ts";
import { ModelLink } from "./links.tsx";
import { Badge, TierBadge } from "./status.tsx";
import { Table } from "./table.tsx";

/** Length of the answer that prices are shown for first. */
const EXAMPLE_TOKENS = 900;
const MOST_TOKENS = 1_000_000;

export const pricesOf = (model: Model): Prices => ({
  creditsPerRequest: model.credits_per_request,
  creditsPer1kTokens: model.credits_per_1k_tokens,
});

/** The length of the visitor's own answer, as typed and as a number. */
export function useAnswerTokens() {
  const [typed, setTyped] = useState(String(EXAMPLE_TOKENS));
  const tokens = /^\d+$/.test(typed) ? Math.min(Number(typed), MOST_TOKENS) : 0;
  return { typed, setTyped, tokens };
}

/** Asks how long the visitor's answers are, and says how they are charged. */
export const Estimator = ({ typed, setTyped }: ReturnType<typeof useAnswerTokens>) => (
  <div className="estimator">
    <Field
      label="An answer of"
      inputMode="numeric"
      suffix="output tokens"
      value={typed}
      onChange={(event) => setTyped(event.target.value.replace(/\D/g, ""))}
    />
    <p className="hint">
      Up to {FLAT_TOKENS} tokens an answer costs the least charge. A longer one costs the price per 1,000 tokens,
      rounded up, but never less than the least charge. Prompts cost nothing. A credit is 0.01 USDG. {USDG_IS}
    </p>
  </div>
);

/** The costs of each model: its least charge, what a token adds, and the price of an answer as long as the visitor says. */
export function PriceTable({ models }: { models: readonly Model[] }) {
  const answer = useAnswerTokens();
  const columns = [
    "Model",
    { end: `${count(answer.tokens)} tokens` },
    { end: "Least charge" },
    { end: "Per 1,000 tokens" },
    { end: "Context" },
    "Tier",
    { end: "Workers" },
  ];
  return (
    <>
      <Estimator {...answer} />
      <Table caption="Models and prices in credits; a credit is 0.01 USDG" columns={columns}>
        {models.map((model) => (
          <Row key={model.number} model={model} tokens={answer.tokens} />
        ))}
      </Table>
    </>
  );
}

function Row({ model, tokens }: { model: Model; tokens: number }) {
  return (
    <tr className={model.retired ? "over" : ""}>
      <NameAndPrice model={model} tokens={tokens} />
      <td className="end">{count(model.credits_per_request)}</td>
      <td className="end">{count(model.credits_per_1k_tokens)}</td>
      <td className="end">{count(model.context_window)}</td>
      <td>
        <TierBadge tier={model.tier} />
      </td>
      <td className="end">
        <Hosted model={model} />
      </td>
    </tr>
  );
}

/** The first cells of a row: which model it is, by whom (`owner`), and what an answer of so many tokens costs. */
export function NameAndPrice({ model, tokens, owner = false }: { model: Model; tokens: number; owner?: boolean }) {
  const price = quote(tokens, pricesOf(model));
  return (
    <>
      <td>
        <span className="hash">
          <ModelLink id={model.id} />
          <CopyButton text={model.id} what="model id" />
        </span>
        {owner ? <p className="hint wide-only">{model.owned_by}</p> : null}
        <Announced model={model} />
      </td>
      <td className="end" title={formula(model, tokens)}>
        <strong>{count(price)}</strong> <span className="hint wide-only">{usdg(price)}</span>
      </td>
    </>
  );
}

/** Shows how many workers answer for the model now. */
export function Hosted({ model }: { model: Model }) {
  if (model.retired) return <Badge tone="bad">retired</Badge>;
  if (model.demo) return <Badge tone="mild">demo text</Badge>;
  return model.active_workers > 0 ? (
    <Badge tone="good">{`${model.active_workers} active`}</Badge>
  ) : (
    <Badge tone="mild">none now</Badge>
  );
}

/** `max(40, ⌈900 × 20 ÷ 1,000⌉)`; in words where the answer costs the least charge for its length. */
export const formula = ({ credits_per_request, credits_per_1k_tokens }: Model, tokens: number): string =>
  tokens <= FLAT_TOKENS
    ? `the least charge, up to ${FLAT_TOKENS} tokens`
    : `max(${credits_per_request}, ⌈${count(tokens)} × ${credits_per_1k_tokens} ÷ 1,000⌉)`;

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
