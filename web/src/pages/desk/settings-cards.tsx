import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Address } from "viem";
import { app } from "../../data/app.ts";
import { modelsQuery } from "../../data/queries.ts";
import { Button, Field, Form } from "../../ui/controls.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { addressFault } from "../../wallet/receiver-field.tsx";
import { changeWorker, type Registered } from "../../wallet/registry.ts";
import type { ContractCall } from "../../wallet/send.ts";
import { useTransaction } from "../../wallet/use-transaction.ts";

/** The worker's settings that its owner makes: where it is paid, where it is reached, which models it hosts. */
export const SettingsCards = ({ worker }: { worker: Registered }) => (
  <>
    <div className="columns">
      <TextCard
        title="Payout address"
        label="Paid to"
        name="payout"
        className="mono"
        hint="Holds for jobs that are running, too."
        current={worker.payout}
        faultOf={addressFault}
        change={(payout) => changeWorker(worker.signer, "setPayout", payout as Address)}
      />
      <TextCard
        title="Endpoint"
        label="Gateways reach it at"
        name="endpoint"
        hint="Have the worker answer there first."
        current={worker.endpoint}
        faultOf={endpointFault}
        change={(endpoint) => changeWorker(worker.signer, "setEndpoint", endpoint)}
      />
    </div>
    <ModelsCard worker={worker} />
  </>
);

type TextProps = {
  title: string;
  label: string;
  name: "payout" | "endpoint";
  className?: string;
  hint: string;
  current: string;
  faultOf: (text: string) => string | null;
  change: (text: string) => ContractCall;
};

/** One text of the worker, which its owner changes. */
function TextCard({ title, current, faultOf, change, ...field }: TextProps) {
  const { state, busy, send } = useTransaction();
  const [text, setText] = useState<string | null>(null);
  const wanted = (text ?? current).trim();
  const fault = faultOf(wanted);
  const submit = async () => {
    if (await send(change(wanted))) setText(null);
  };
  return (
    <Card title={title}>
      <Form onSubmit={submit}>
        <Field
          {...field}
          value={text ?? current}
          readOnly={busy}
          onChange={(event) => setText(event.target.value)}
          error={text === null ? null : fault}
        />
        <Button type="submit" kind="primary" busy={busy} disabled={fault !== null || wanted === current}>
          Change the {field.name}
        </Button>
      </Form>
      <ActionStatus state={state} done={`The ${field.name} is changed`} />
    </Card>
  );
}

/** The registry takes 200 bytes, gateways only HTTPS. */
export function endpointFault(text: string): string | null {
  if (!URL.canParse(text)) return "Not a URL.";
  if (!text.startsWith("https://") && !(app.development && text.startsWith("http://"))) return "Begins with https://.";
  return new TextEncoder().encode(text).length > 200 ? "At most 200 bytes." : null;
}

function ModelsCard({ worker }: { worker: Registered }) {
  const { state, busy, send } = useTransaction();
  const [chosen, setChosen] = useState<readonly number[] | null>(null);
  const hosted = chosen ?? worker.models;
  const added = hosted.filter((model) => !worker.models.includes(model));
  const dropped = worker.models.filter((model) => !hosted.includes(model));
  const host = (models: readonly number[], on: boolean): ContractCall[] =>
    models.length === 0 ? [] : [changeWorker(worker.signer, "setHosting", models, on)];
  const calls = [...host(added, true), ...host(dropped, false)];
  return (
    <Card title="Models">
      <Form onSubmit={() => send(calls, () => setChosen(null))}>
        <ModelChoices chosen={hosted} onChange={setChosen} disabled={busy} />
        <Button type="submit" kind="primary" busy={busy} disabled={calls.length === 0}>
          Change the models
        </Button>
        <p className="hint">
          Its model server must have them, and its <code>--models</code> must name the same.
          {calls.length > 1 ? " Two transactions: what it hosts now, and what no longer." : null}
        </p>
      </Form>
      <ActionStatus state={state} done="The models are changed" />
    </Card>
  );
}

/** Models of the catalog to tick, those that are retired only while they are hosted. */
export function ModelChoices({
  chosen,
  onChange,
  disabled,
}: {
  chosen: readonly number[];
  onChange: (models: readonly number[]) => void;
  disabled: boolean;
}) {
  const models = useQuery(modelsQuery);
  return (
    <Loaded query={models} rows={3} height={24}>
      {({ data }) => (
        <fieldset className="choices many" disabled={disabled}>
          <legend>Hosts</legend>
          {data
            .filter(({ number, retired }) => !retired || chosen.includes(number))
            .map(({ number, id, retired }) => (
              <label key={number}>
                <input
                  type="checkbox"
                  checked={chosen.includes(number)}
                  onChange={({ target }) =>
                    onChange(target.checked ? [...chosen, number] : chosen.filter((one) => one !== number))
                  }
                />
                <span>
                  <code>{id}</code> {retired ? <span className="hint">retired</span> : null}
                </span>
              </label>
            ))}
        </fieldset>
      )}
    </Loaded>
  );
}
