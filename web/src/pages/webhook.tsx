import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import type { Arrivals, DeliveryState, OwnWebhook } from "../../contract.ts";
import { call } from "../data/client.ts";
import { errorMessageOf } from "../data/error-message.ts";
import { deliveryQuery, webhooksQuery } from "../data/queries.ts";
import { useChange } from "../data/use-change.ts";
import { Button } from "../ui/controls.tsx";
import { Hash } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { count, moment } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Failure, Notice, Page } from "../ui/page.tsx";
import { DeliveryLog } from "./webhooks/delivery-log.tsx";
import { type Endpoint, EndpointFields, isComplete } from "./webhooks/new-webhook.tsx";
import { NewSecret, OldSecret, SecretNotice } from "./webhooks/secret.tsx";
import { shareOf, WebhookState } from "./webhooks.tsx";

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

function Contents({ webhook }: { webhook: OwnWebhook }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<"delete" | "edit" | "secret" | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const close = () => setAsking(null);
  const path = `/webhooks/${webhook.id}`;
  const enable = useChange(() => call("POST", `${path}/enable`));
  // Without a time: the chain's clock can be behind the one that says when the webhook was created.
  const replay = useChange(() =>
    call<{ replayed: number; has_more: boolean }>("POST", `${path}/replay`, { statuses: UNDELIVERED }),
  );
  const remove = useChange(
    () => call("DELETE", path),
    () => navigate("/app/webhooks"),
  );
  const test = useChange(() => call<{ id: string }>("POST", `${path}/test`));
  const error = enable.error ?? replay.error ?? test.error ?? remove.error;
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
      {secret === null ? null : <SecretNotice secret={secret} onStored={() => setSecret(null)} />}
      <OldSecret webhook={webhook} />
      <Card title={webhook.url} aside={<WebhookState status={webhook.status} />} className="breaks">
        <dl className="facts">
          <Fact label="Id">
            <Hash value={webhook.id} what="webhook id" />
          </Fact>
          <Fact label="Created">{moment(webhook.created_at)}</Fact>
          <Arrived label="Arrived, 24 h" of={webhook.arrivals?.["24h"]} />
          <Arrived label="Arrived, 7 d" of={webhook.arrivals?.["7d"]} />
        </dl>
        <p className="tags">
          {webhook.events.map((event) => (
            <code key={event}>{event}</code>
          ))}
        </p>
        <div className="actions">
          <Button kind="primary" busy={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
          <Button onClick={() => setAsking("edit")}>Edit</Button>
          <Button onClick={() => setAsking("secret")}>New secret</Button>
          <Button busy={replay.isPending} disabled={webhook.status === "failed"} onClick={() => replay.mutate()}>
            Send all undelivered now
          </Button>
          <Button kind="danger" busy={remove.isPending} onClick={() => setAsking("delete")}>
            Delete
          </Button>
        </div>
        {test.data ? <TestResult key={test.data.id} id={test.data.id} /> : null}
        {replay.data ? <Notice tone="good">{sentAgain(replay.data)}</Notice> : null}
        {error ? <Failure message={errorMessageOf(error)} /> : null}
      </Card>
      <DeliveryLog webhook={webhook} />
      {asking === "edit" ? <EditWebhook webhook={webhook} onClose={close} /> : null}
      {asking === "secret" ? (
        <NewSecret
          webhook={webhook}
          onClose={close}
          onMade={(made) => {
            setSecret(made);
            close();
          }}
        />
      ) : null}
      {asking === "delete" ? (
        <Dialog title="Delete this webhook?" onClose={close}>
          <p>Nothing is sent to it any more, and its delivery log is deleted.</p>
          <div className="actions">
            <Button onClick={close}>Keep it</Button>
            <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
              Delete
            </Button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}

/** A share, and the numbers that it is of. */
const Arrived = ({ label, of }: { label: string; of: Arrivals | undefined }) => (
  <Fact label={label}>
    {of === undefined ? "–" : shareOf(of)}{" "}
    {of && of.delivered + of.undelivered > 0 ? (
      <span className="hint">
        {count(of.delivered)} of {count(of.delivered + of.undelivered)}
      </span>
    ) : null}
  </Fact>
);

/** The endpoint's answer to the test. */
function TestResult({ id }: { id: string }) {
  const { data } = useQuery(deliveryQuery(id));
  const last = data?.attempt_log.at(-1);
  if (data === undefined || data.status === "pending") return <Notice tone="info">The test is on its way.</Notice>;
  if (data.status === "delivered" && last) {
    return (
      <Notice tone="good">
        The test arrived: answered {last.status} in {last.duration_ms} ms.
      </Notice>
    );
  }
  return <Notice tone="warn">The test did not arrive: {data.last_error ?? "it was not sent"}.</Notice>;
}

function EditWebhook({ webhook, onClose }: { webhook: OwnWebhook; onClose: () => void }) {
  const [endpoint, setEndpoint] = useState<Endpoint>(webhook);
  const { url, events } = endpoint;
  const change = useChange(() => call("PATCH", `/webhooks/${webhook.id}`, { url, events }), onClose);
  return (
    <Dialog title="Edit the webhook" onClose={onClose}>
      <EndpointFields endpoint={endpoint} onChange={setEndpoint} />
      <p className="hint">
        What waits for another attempt goes to the new endpoint. Added events are sent from now on.
      </p>
      {change.error ? <Failure message={errorMessageOf(change.error)} /> : null}
      <div className="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" busy={change.isPending} disabled={!isComplete(endpoint)} onClick={() => change.mutate()}>
          Save
        </Button>
      </div>
    </Dialog>
  );
}

/** Those that wait for their next attempt, too: an endpoint that was repaired need not wait for their schedule. */
const UNDELIVERED: readonly DeliveryState[] = ["failed", "skipped", "pending"];

const sentAgain = ({ replayed, has_more }: { replayed: number; has_more: boolean }) => {
  const sent = replayed === 1 ? "1 delivery is sent now." : `${count(replayed)} deliveries are sent now.`;
  return has_more ? `${sent} Others may be left: send again when these have arrived.` : sent;
};
