import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { KeyInfo, WalletSettings } from "../../contract.ts";
import { app } from "../data/app.ts";
import { call } from "../data/client.ts";
import { errorMessageOf } from "../data/error-message.ts";
import { accountQuery, keyQuery, settingsQuery } from "../data/queries.ts";
import { useChange } from "../data/use-change.ts";
import { readCredits } from "../ui/amount.ts";
import { Button, Field, Form } from "../ui/controls.tsx";
import { Code, Secret } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { moment } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Failure, Notice, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { ConnectNotice } from "../wallet/connect.tsx";
import { useWallet } from "../wallet/use-wallet.ts";
import { AuthorizationCard, DisputeKeyCard, LimitsCard, OperatorCard } from "./settings/contract-cards.tsx";

/** The API key, what the contract keeps about the wallet's spending, and the low-credit warning. */
export function Settings() {
  const key = useQuery(keyQuery);
  const account = useQuery(accountQuery);
  const { connected } = useWallet();
  return (
    <Page title="Settings">
      {connected ? null : <ConnectNotice />}
      <Card title="API key">
        <Loaded query={key} rows={2} height={36}>
          {({ key }) => <Key current={key} />}
        </Loaded>
      </Card>
      <Loaded query={account} rows={3} height={120}>
        {(data) => (
          <>
            <OperatorCard account={data} />
            <LimitsCard account={data} />
            <AuthorizationCard account={data} />
            <DisputeKeyCard account={data} />
          </>
        )}
      </Loaded>
      <Warnings />
    </Page>
  );
}

type Asking = "replace" | "revoke" | null;

/** One key a wallet: created, replaced, revoked here, and shown in full exactly once. */
function Key({ current }: { current: KeyInfo["key"] }) {
  const cache = useQueryClient();
  const [asking, setAsking] = useState<Asking>(null);
  const [fresh, setFresh] = useState<string | null>(null);
  /** A failure shows at once, a change when the key has been read anew. */
  const settle = (_: unknown, failure: Error | null) => {
    setAsking(null);
    const reading = cache.invalidateQueries({ queryKey: ["own", "key"] });
    return failure === null ? reading : undefined;
  };
  const create = useMutation({
    mutationFn: () => call<{ api_key: string }>("POST", "/key"),
    onSuccess: ({ api_key }) => setFresh(api_key),
    onSettled: settle,
  });
  const revoke = useMutation({
    mutationFn: () => call("DELETE", "/key"),
    onSuccess: () => setFresh(null),
    onSettled: settle,
  });
  const error = create.error ?? revoke.error;
  const busy = create.isPending || revoke.isPending;
  return (
    <>
      {fresh === null ? null : <FreshKey apiKey={fresh} onDone={() => setFresh(null)} />}
      {current === null ? (
        <div className="row">
          <p>You have no key. Requests to the API need one.</p>
          <Button kind="primary" busy={busy} onClick={() => create.mutate()}>
            Create key
          </Button>
        </div>
      ) : (
        <div className="row">
          <p>
            <code>svc_live_…{current.hint}</code>{" "}
            {current.suspended ? <Badge tone="bad">suspended</Badge> : <Badge tone="good">active</Badge>}
            <br />
            <span className="hint">
              created {moment(current.created_at)},{" "}
              {current.last_used_at === null ? "never used" : `last used ${moment(current.last_used_at)}`}; it can spend
              credits, never withdraw them
            </span>
          </p>
          <div className="actions">
            <Button busy={busy} onClick={() => setAsking("replace")} disabled={current.suspended}>
              Regenerate
            </Button>
            <Button kind="danger" busy={busy} onClick={() => setAsking("revoke")}>
              Revoke
            </Button>
          </div>
        </div>
      )}
      {error ? <Failure message={errorMessageOf(error)} /> : null}
      {asking === null ? null : (
        <Dialog
          title={asking === "replace" ? "Regenerate the key?" : "Revoke the key?"}
          onClose={() => setAsking(null)}
        >
          <p>
            The key ending in <code>{current?.hint}</code> stops working at once, for everything that uses it.
            {asking === "replace" ? " You get a new one." : " Jobs that are running are finished."}
          </p>
          <div className="actions">
            <Button onClick={() => setAsking(null)}>Keep it</Button>
            <Button
              kind="danger"
              busy={busy}
              onClick={() => (asking === "replace" ? create.mutate() : revoke.mutate())}
            >
              {asking === "replace" ? "Regenerate" : "Revoke"}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function FreshKey({ apiKey, onDone }: { apiKey: string; onDone: () => void }) {
  const { base_url } = app;
  const body = JSON.stringify({ model: "qwen3-1.7b", messages: [{ role: "user", content: "Say hello." }] });
  const curl = `curl ${base_url}/v1/chat/completions \\
  -H "Authorization: Bearer ${apiKey}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
  return (
    <Notice tone="good" title="Your new key" actions={<Button onClick={onDone}>I have stored it</Button>}>
      <p>It is shown this once. Store it where your secrets are; a lost key needs a new one.</p>
      <Secret text={apiKey} what="API key" data-testid="api-key" />
      <p>Try it:</p>
      <Code text={curl} what="curl command" />
    </Notice>
  );
}

const MOST_CREDITS = 1_000_000_000;

/** When the event `credit.low` fires, and from which spending on the wallet's pages say so. */
function Warnings() {
  const settings = useQuery(settingsQuery);
  return (
    <>
      <Card title="Low-credit warning">
        <Loaded query={settings} rows={1} height={92}>
          {({ low_credit_threshold }) => <ThresholdForm current={low_credit_threshold} />}
        </Loaded>
      </Card>
      <Card title="Spend alerts">
        <Loaded query={settings} rows={2} height={92}>
          {(data) => <AlertsForm current={data} />}
        </Loaded>
      </Card>
    </>
  );
}

function ThresholdForm({ current }: { current: number }) {
  const [text, setText] = useState(String(current));
  const { value, error } = readCredits(text, { least: 0, most: MOST_CREDITS });
  const save = useChange((low_credit_threshold: number) => call("PUT", "/settings", { low_credit_threshold }));
  return (
    <Form onSubmit={() => value !== null && save.mutate(value)}>
      <Field
        label="Warn below"
        name="threshold"
        inputMode="numeric"
        suffix="credits"
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={error}
        hint="The event credit.low is sent when free and escrowed credits together fall below it. 0 turns it off."
      />
      <Button type="submit" kind="primary" busy={save.isPending} disabled={value === null || value === current}>
        Save
      </Button>
      {save.error ? <Failure message={errorMessageOf(save.error)} /> : null}
      {save.isSuccess ? <Notice tone="good">Saved.</Notice> : null}
    </Form>
  );
}

type Alerts = Pick<WalletSettings, "spend_alert_day" | "spend_alert_month">;

/** An empty field is no alert. */
function AlertsForm({ current }: { current: Alerts }) {
  const [day, setDay] = useState(String(current.spend_alert_day ?? ""));
  const [month, setMonth] = useState(String(current.spend_alert_month ?? ""));
  const amounts = [day, month].map((text) => readCredits(text, { least: 1, most: MOST_CREDITS })) as [Typed, Typed];
  const save = useChange((alerts: Alerts) => call("PUT", "/settings", alerts));
  const isWrong = amounts.some(({ error }) => error !== null);
  const isSame = amounts[0].value === current.spend_alert_day && amounts[1].value === current.spend_alert_month;
  const fields = [
    ["Charged on a day", day, setDay, "All pages of your account say so until the day (UTC) is over. Empty: no alert."],
    [
      "Charged in a month",
      month,
      setMonth,
      "The same until the month (UTC) is over. Only the daily limit stops requests.",
    ],
  ] as const;
  return (
    <Form
      onSubmit={() =>
        !isWrong && save.mutate({ spend_alert_day: amounts[0].value, spend_alert_month: amounts[1].value })
      }
    >
      {fields.map(([label, value, set, hint], index) => (
        <Field
          key={label}
          label={label}
          inputMode="numeric"
          suffix="credits"
          value={value}
          onChange={(event) => set(event.target.value)}
          error={amounts[index]?.error}
          hint={hint}
        />
      ))}
      <Button type="submit" kind="primary" busy={save.isPending} disabled={isWrong || isSame}>
        Set the alerts
      </Button>
      {save.error ? <Failure message={errorMessageOf(save.error)} /> : null}
      {save.isSuccess ? <Notice tone="good">The alerts are set.</Notice> : null}
    </Form>
  );
}

type Typed = ReturnType<typeof readCredits>;
