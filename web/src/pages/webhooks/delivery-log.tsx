import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Attempt, Delivery, DeliveryState, Webhook } from "../../../contract.ts";
import { call } from "../../data/client.ts";
import { errorMessageOf } from "../../data/error-message.ts";
import { deliveriesQuery, deliveryQuery } from "../../data/queries.ts";
import { useChange } from "../../data/use-change.ts";
import { Button, Select } from "../../ui/controls.tsx";
import { Code } from "../../ui/copy.tsx";
import { shortMoment } from "../../ui/format.ts";
import { JobLink } from "../../ui/links.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Empty, Failure } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";
import { curlOf } from "./resend.ts";

const TONES = { pending: "wait", delivered: "good", failed: "bad", skipped: "mild" } as const;
const STATES = Object.keys(TONES) as DeliveryState[];
/** It is sent once: another test says more than a replay. */
const TEST_EVENT = "webhook.test";

/** The deliveries of a webhook, newest first; each entry opens to its attempts and its body. */
export function DeliveryLog({ webhook }: { webhook: Webhook }) {
  const [status, setStatus] = useState("");
  const [pages, setPages] = useState<readonly string[]>([]);
  const log = useQuery(deliveriesQuery(webhook.id, { status, before: pages.at(-1) ?? "" }));
  return (
    <Card
      title="Deliveries"
      className={log.isPlaceholderData ? "stale" : ""}
      aside={
        <Select
          label="Show"
          value={status}
          onChange={(event) => {
            setStatus(event.target.value);
            setPages([]);
          }}
        >
          <option value="">all</option>
          {STATES.map((state) => (
            <option key={state}>{state}</option>
          ))}
        </Select>
      }
    >
      <Loaded query={log} rows={5} height={36}>
        {({ data, has_more }) => (
          <>
            {data.length === 0 ? <Empty title={status === "" ? "Nothing was sent yet" : `None is ${status}`} /> : null}
            <ul className="deliveries">
              {data.map((delivery) => (
                <Entry key={delivery.id} delivery={delivery} canReplay={webhook.status === "active"} />
              ))}
            </ul>
            {pages.length > 0 || has_more ? (
              <nav className="pager" aria-label="Pages of the log">
                <Button disabled={pages.length === 0} onClick={() => setPages(pages.slice(0, -1))}>
                  Newer
                </Button>
                <Button disabled={!has_more} onClick={() => setPages([...pages, data.at(-1)?.id ?? ""])}>
                  Older
                </Button>
              </nav>
            ) : null}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Entry({ delivery, canReplay }: { delivery: Delivery; canReplay: boolean }) {
  const [open, setOpen] = useState(false);
  const replay = useChange(() => call("POST", `/deliveries/${delivery.id}/replay`));
  return (
    <li>
      <div className="row">
        <p>
          <code>{delivery.event}</code>{" "}
          {delivery.status === "pending" && delivery.attempts > 0 ? (
            <Badge tone="bad">failed, sent again later</Badge>
          ) : (
            <Badge tone={TONES[delivery.status]}>{delivery.status}</Badge>
          )}{" "}
          {delivery.job_id === null ? null : <JobLink id={delivery.job_id} />}
          <br />
          <span className="hint">{story(delivery)}</span>
        </p>
        <div className="actions">
          <Button aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide" : "Details"}
          </Button>
          {delivery.event === TEST_EVENT ? null : (
            <Button
              busy={replay.isPending}
              disabled={!canReplay}
              onClick={() => replay.mutate()}
              title={canReplay ? undefined : "Enable the webhook first"}
            >
              Replay
            </Button>
          )}
        </div>
      </div>
      {replay.error ? <Failure message={errorMessageOf(replay.error)} /> : null}
      {open ? <Details id={delivery.id} /> : null}
    </li>
  );
}

/** The state of a delivery in one line: its time, its attempts, the last result, and the next attempt. */
function story({ occurred_at, attempts, last_status, last_error, next_attempt_at }: Delivery): string {
  const parts = [shortMoment(occurred_at), attempts === 1 ? "1 attempt" : `${attempts} attempts`];
  if (last_error !== null) parts.push(last_error);
  else if (last_status !== null) parts.push(`answered ${last_status}`);
  if (next_attempt_at !== null && attempts > 0) parts.push(`next ${shortMoment(next_attempt_at)}`);
  return parts.join(" · ");
}

function Details({ id }: { id: string }) {
  const detail = useQuery(deliveryQuery(id));
  return (
    <Loaded query={detail} rows={3}>
      {({ url, attempt_log, body }) => (
        <>
          {attempt_log.map((attempt, nth) => (
            <details key={attempt.number} className="attempt" open={nth === attempt_log.length - 1}>
              <summary>
                Attempt {attempt.number}: {attempt.error ?? `answered ${attempt.status}`}{" "}
                <span className="hint">
                  {shortMoment(attempt.started_at)}
                  {attempt.duration_ms === null ? "" : `, ${attempt.duration_ms} ms`}
                </span>
              </summary>
              <Code text={requestOf(url, attempt)} what={`request of attempt ${attempt.number}`} />
              {attempt.status === null ? null : (
                <Code text={answerOf(attempt)} what={`answer to attempt ${attempt.number}`} />
              )}
            </details>
          ))}
          <h3>Body</h3>
          <Code text={pretty(body)} what="body" />
          <details className="attempt">
            <summary>Resend as curl</summary>
            <p className="hint">
              It is signed anew on your machine: set <code>WEBHOOK_SECRET</code> there first. Nothing goes through this
              service.
            </p>
            <Code text={curlOf(url, body)} what="curl command" />
          </details>
        </>
      )}
    </Loaded>
  );
}

/** As it was sent, without the body. */
const requestOf = (url: string, { signature }: Attempt): string =>
  [`POST ${url}`, "Content-Type: application/json", `Service-Signature: ${signature ?? "not known"}`].join("\n");

/** The endpoint's answer: status, headers, and the beginning of the body. */
const answerOf = ({ status, response_headers, response }: Attempt): string =>
  [`HTTP ${status}`, response_headers, response && `\n${response}`].filter((part) => !!part).join("\n");

/** The body is JSON; indented it can be read. */
function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Shown as it is: what was sent is what matters.
    return body;
  }
}
