import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { call } from "../data/client.ts";
import { webhooksQuery } from "../data/queries.ts";
import { tellFailure } from "../data/told.ts";
import type { DeliveryState, Webhook } from "../data/types.ts";
import { Button } from "../ui/controls.tsx";
import { Hash } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { moment } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Failure, Notice, Page } from "../ui/page.tsx";
import { DeliveryLog } from "./webhooks/delivery-log.tsx";
import { WebhookState } from "./webhooks.tsx";

/** One webhook: what it is, what was sent to it, and how to send that again. */
export function WebhookPage() {
  const { id = "" } = useParams();
  const webhooks = useQuery(webhooksQuery);
  const webhook = webhooks.data?.data.find((candidate) => candidate.id === id);
  const tab = webhook && `Webhook ${new URL(webhook.url).host}, ${webhook.status}`;
  return (
    <Page title="Webhook" tab={tab} about={<Link to="/app/webhooks">All webhooks</Link>}>
      <Loaded query={webhooks} rows={3} height={80}>
        {() => (webhook ? <Contents webhook={webhook} /> : <Empty title="There is no such webhook" />)}
      </Loaded>
    </Page>
  );
}

function Contents({ webhook }: { webhook: Webhook }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const refresh = () => cache.invalidateQueries({ queryKey: ["own"] });
  const enable = useMutation({ mutationFn: () => call("POST", `/webhooks/${webhook.id}/enable`), onSuccess: refresh });
  const replay = useMutation({
    // Without a time: the chain's clock can be behind the one that says when the webhook was created.
    mutationFn: () => call<{ replayed: number }>("POST", `/webhooks/${webhook.id}/replay`, { statuses: UNDELIVERED }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: () => call("DELETE", `/webhooks/${webhook.id}`),
    onSuccess: async () => {
      await refresh();
      await navigate("/app/webhooks");
    },
  });
  const error = enable.error ?? replay.error ?? remove.error;
  return (
    <>
      {webhook.status === "failed" ? (
        <Notice
          tone="warn"
          title="Five deliveries in a row failed: nothing is sent any more"
          actions={
            <Button kind="primary" busy={enable.isPending} onClick={() => enable.mutate()}>
              Enable again
            </Button>
          }
        >
          <p>Repair the endpoint, enable the webhook, then replay what it missed.</p>
        </Notice>
      ) : null}
      <Card title={webhook.url} aside={<WebhookState status={webhook.status} />} className="breaks">
        <dl className="facts">
          <Fact label="Id">
            <Hash value={webhook.id} what="webhook id" />
          </Fact>
          <Fact label="Created">{moment(webhook.created_at)}</Fact>
        </dl>
        <p className="tags">
          {webhook.events.map((event) => (
            <code key={event}>{event}</code>
          ))}
        </p>
        <div className="actions">
          <Button busy={replay.isPending} disabled={webhook.status === "failed"} onClick={() => replay.mutate()}>
            Send all undelivered now
          </Button>
          <Button kind="danger" busy={remove.isPending} onClick={() => setAsking(true)}>
            Delete
          </Button>
        </div>
        {replay.data ? <Notice tone="good">{sentAgain(replay.data.replayed)}</Notice> : null}
        {error ? <Failure told={tellFailure(error)} /> : null}
      </Card>
      <DeliveryLog webhook={webhook} />
      {asking ? (
        <Dialog title="Delete this webhook?" onClose={() => setAsking(false)}>
          <p>Nothing is sent to it any more, and its delivery log is deleted.</p>
          <div className="actions">
            <Button onClick={() => setAsking(false)}>Keep it</Button>
            <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
              Delete
            </Button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}

/** Those that wait for their next attempt, too: an endpoint that was repaired need not wait for their schedule. */
const UNDELIVERED: readonly DeliveryState[] = ["failed", "skipped", "pending"];

const sentAgain = (replayed: number) =>
  replayed === 1 ? "1 delivery is sent now." : `${replayed} deliveries are sent now.`;
