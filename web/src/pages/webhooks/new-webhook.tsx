import { useState } from "react";
import type { Webhook } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { call } from "../../data/client.ts";
import { errorMessageOf } from "../../data/error-message.ts";
import { useChange } from "../../data/use-change.ts";
import { Button, Field, Form } from "../../ui/controls.tsx";
import { Card, Failure } from "../../ui/page.tsx";

export function NewWebhook({ onClose, onCreated }: { onClose: () => void; onCreated: (webhook: Webhook) => void }) {
  const [endpoint, setEndpoint] = useState<Endpoint>({
    url: "",
    events: ["job.completed", "job.failed", "credit.low"],
  });
  const [secret, setSecret] = useState("");
  const asked = { ...endpoint, ...(secret === "" ? {} : { secret }) };
  const create = useChange(() => call<Webhook>("POST", "/webhooks", asked), onCreated);
  return (
    <Card title="New webhook">
      <Form onSubmit={() => create.mutate()}>
        <EndpointFields endpoint={endpoint} onChange={setEndpoint} />
        <SecretField secret={secret} onChange={setSecret} />
        <div className="actions">
          <Button
            type="submit"
            kind="primary"
            busy={create.isPending}
            disabled={!isComplete(endpoint) || !isSecret(secret)}
          >
            Create webhook
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </Form>
      {create.error ? <Failure message={errorMessageOf(create.error)} /> : null}
    </Card>
  );
}

/** The URL to which events go, and the events. */
export type Endpoint = { url: string; events: readonly string[] };

export function EndpointFields({ endpoint, onChange }: { endpoint: Endpoint; onChange: (changed: Endpoint) => void }) {
  const { url, events } = endpoint;
  const toggle = (event: string, on: boolean) =>
    onChange({ url, events: on ? [...events, event] : events.filter((name) => name !== event) });
  return (
    <>
      <Field
        label="Endpoint"
        name="url"
        type="url"
        placeholder="https://example.com/hooks"
        value={url}
        onChange={(event) => onChange({ url: event.target.value, events })}
        error={url !== "" && !isEndpoint(url) ? "An address that begins with https://." : null}
        hint="It must answer with a 2xx status within 10 seconds."
      />
      <fieldset className="choices">
        <legend>Events</legend>
        {app.webhook_events.map(({ name, meaning }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={events.includes(name)}
              onChange={(event) => toggle(name, event.target.checked)}
            />
            <span>
              <code>{name}</code> <span className="hint">{meaning}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </>
  );
}

/** Empty for one that the service makes. */
export const SecretField = ({ secret, onChange }: { secret: string; onChange: (secret: string) => void }) => (
  <Field
    label="Signing secret (optional)"
    name="secret"
    minLength={16}
    value={secret}
    onChange={(event) => onChange(event.target.value)}
    error={isSecret(secret) ? null : "At least 16 characters."}
    hint="Left empty, one is made and shown once."
  />
);

export const isSecret = (text: string): boolean => text === "" || text.length >= 16;

export const isComplete = ({ url, events }: Endpoint): boolean => isEndpoint(url) && events.length > 0;

/** Development stacks may allow plain HTTP to this machine; the service decides. */
const isEndpoint = (url: string): boolean =>
  URL.canParse(url) && (url.startsWith("https://") || (app.development && url.startsWith("http://")));
