import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import type { Arrivals, OwnWebhook, Webhook } from "../../contract.ts";
import { webhooksQuery } from "../data/queries.ts";
import { Button } from "../ui/controls.tsx";
import { moment, percent } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { NewWebhook } from "./webhooks/new-webhook.tsx";
import { SecretNotice } from "./webhooks/secret.tsx";

export function Webhooks() {
  const webhooks = useQuery(webhooksQuery);
  const [adding, setAdding] = useState(false);
  const [created, setCreated] = useState<Webhook | null>(null);
  return (
    <Page
      title="Webhooks"
      about="Events are sent to your HTTPS endpoint, signed with the webhook's secret. A webhook sees what happens after its creation."
      actions={
        adding ? null : (
          <Button kind="primary" onClick={() => setAdding(true)}>
            New webhook
          </Button>
        )
      }
    >
      {created?.secret ? <SecretNotice secret={created.secret} onStored={() => setCreated(null)} /> : null}
      {adding ? (
        <NewWebhook
          onClose={() => setAdding(false)}
          onCreated={(webhook) => {
            setCreated(webhook);
            setAdding(false);
          }}
        />
      ) : null}
      <Loaded query={webhooks} rows={2} height={96}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title="No webhooks yet">
                <p>Create one to hear about settled jobs, low credits and more.</p>
              </Empty>
            </Card>
          ) : (
            data.map((webhook) => <WebhookRow key={webhook.id} webhook={webhook} />)
          )
        }
      </Loaded>
    </Page>
  );
}

function WebhookRow({ webhook }: { webhook: OwnWebhook }) {
  return (
    <Card>
      <div className="row">
        <p className="breaks">
          <Link to={`/app/webhooks/${webhook.id}`}>{webhook.url}</Link>
          <br />
          <span className="hint">
            {webhook.arrivals === null
              ? null
              : `${shareOf(webhook.arrivals["24h"])} arrived in 24 h, ${shareOf(webhook.arrivals["7d"])} in 7 d · `}
            created {moment(webhook.created_at)}
          </span>
        </p>
        <WebhookState status={webhook.status} />
      </div>
      <p className="tags">
        {webhook.events.map((event) => (
          <code key={event}>{event}</code>
        ))}
      </p>
    </Card>
  );
}

/** Which share of its deliveries arrived: `99.5 %`; `none` if there were none. */
export const shareOf = ({ delivered, undelivered }: Arrivals): string =>
  delivered + undelivered === 0 ? "none" : percent(delivered / (delivered + undelivered));

export const WebhookState = ({ status }: { status: Webhook["status"] }) =>
  status === "active" ? <Badge tone="good">active</Badge> : <Badge tone="bad">failed</Badge>;
