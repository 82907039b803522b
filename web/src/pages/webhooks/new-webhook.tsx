import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { app } from "../../data/app.ts";
import { call } from "../../data/client.ts";
import { tellFailure } from "../../data/told.ts";
import type { Webhook } from "../../data/types.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { Card, Failure } from "../../ui/page.tsx";

/** Every event and when it fires (specification, "Events"). */
const EVENTS = [
  ["job.submitted", "a job is created and its credits are locked"],
  ["job.processing", "a worker took a job"],
  ["job.completed", "a job settled and its worker was paid"],
  ["job.failed", "a job failed; nothing is charged"],
  ["job.timeout", "a job timed out; its credits are back"],
  ["job.disputed", "a dispute was opened"],
  ["credit.low", "the balance fell below your threshold"],
  ["credit.topup", "credits were added"],
  ["worker.registered", "a worker joined the pool"],
  ["worker.slashed", "a worker lost stake for fraud"],
] as const;

export function NewWebhook({ onClose, onCreated }: { onClose: () => void; onCreated: (webhook: Webhook) => void }) {
  const { development } = app;
  const cache = useQueryClient();
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<readonly string[]>(["job.completed", "job.failed", "credit.low"]);
  const [secret, setSecret] = useState("");
  const create = useMutation({
    mutationFn: () => call<Webhook>("POST", "/webhooks", { url, events, ...(secret === "" ? {} : { secret }) }),
    onSuccess: async (webhook) => {
      await cache.invalidateQueries({ queryKey: ["own", "webhooks"] });
      onCreated(webhook);
    },
  });
  const badUrl = url !== "" && !isEndpoint(url, development) ? "An address that begins with https://." : null;
  const toggle = (event: string, on: boolean) =>
    setEvents(on ? [...events, event] : events.filter((name) => name !== event));
  return (
    <Card title="New webhook">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Field
          label="Endpoint"
          name="url"
          type="url"
          placeholder="https://example.com/hooks"
          autoComplete="off"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
          error={badUrl}
          hint="It must answer with a 2xx status within 10 seconds."
        />
        <fieldset className="choices">
          <legend>Events</legend>
          {EVENTS.map(([name, when]) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={events.includes(name)}
                onChange={(event) => toggle(name, event.target.checked)}
              />
              <span>
                <code>{name}</code> <span className="hint">{when}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <Field
          label="Signing secret (optional)"
          name="secret"
          autoComplete="off"
          minLength={16}
          value={secret}
          onChange={(event) => setSecret(event.target.value)}
          error={secret !== "" && secret.length < 16 ? "At least 16 characters." : null}
          hint="Left empty, one is made and shown once."
        />
        <div className="actions">
          <Button
            type="submit"
            kind="primary"
            busy={create.isPending}
            disabled={url === "" || badUrl !== null || events.length === 0 || (secret !== "" && secret.length < 16)}
          >
            Create webhook
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
      {create.error ? <Failure told={tellFailure(create.error)} /> : null}
    </Card>
  );
}

/** Development stacks may allow plain HTTP to this machine; the service decides. */
const isEndpoint = (url: string, development: boolean): boolean =>
  URL.canParse(url) && (url.startsWith("https://") || (development && url.startsWith("http://")));
