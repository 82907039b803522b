import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Attempt, Delivery, DeliveryState, Webhook } from "../../../contract.ts";
import { call } from "../../data/client.ts";
import { errorMessageOf } from "../../data/error-message.ts";
import { deliveriesQuery, deliveryQuery } from "../../data/queries.ts";
import { useChange } from "../../data/use-change.ts";
import { Button, Select } from "../../ui/controls.tsx";
import { shortMoment } from "../../ui/format.ts";
import { JobLink } from "../../ui/links.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Empty, Failure } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";
import { Table } from "../../ui/table.tsx";

const TONES = { pending: "wait", delivered: "good", failed: "bad", skipped: "mild" } as const;
const STATES = Object.keys(TONES) as DeliveryState[];

/** What was sent to a webhook, newest first; each entry opens to its attempts and its body. */
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
          <Button
            busy={replay.isPending}
            disabled={!canReplay}
            onClick={() => replay.mutate()}
            title={canReplay ? undefined : "Enable the webhook first"}
          >
            Replay
          </Button>
        </div>
      </div>
      {replay.error ? <Failure message={errorMessageOf(replay.error)} /> : null}
      {open ? <Details id={delivery.id} /> : null}
    </li>
  );
}

/** What became of it so far, in one line. */
function story({ occurred_at, attempts, last_status, last_error, next_attempt_at }: Delivery): string {
  const parts = [shortMoment(occurred_at), attempts === 1 ? "1 attempt" : `${attempts} attempts`];
  if (last_error !== null) parts.push(last_error);
  else if (last_status !== null) parts.push(`answered ${last_status}`);
  if (next_attempt_at !== null && attempts > 0) parts.push(`next ${shortMoment(next_attempt_at)}`);
  return parts.join(" · ");
}

/** `before`: the first attempt of the page that was shown, for the page before it. */
function Details({ id }: { id: string }) {
  const [before, setBefore] = useState<number>();
  const detail = useQuery(deliveryQuery(id, before));
  return (
    <Loaded query={detail} rows={3}>
      {({ attempt_log, body, has_more }) => (
        <>
          <Table caption="Attempts" columns={["Attempt", "When", "Took", "Answer"]} plain>
            {attempt_log.map((attempt) => (
              <tr key={attempt.number}>
                <td>{attempt.number}</td>
                <td>{shortMoment(attempt.started_at)}</td>
                <td>{attempt.duration_ms === null ? "–" : `${attempt.duration_ms} ms`}</td>
                <td className="breaks">{answerOf(attempt)}</td>
              </tr>
            ))}
          </Table>
          {has_more || before !== undefined ? (
            <nav className="actions" aria-label="Attempts">
              <Button disabled={before === undefined} onClick={() => setBefore(undefined)}>
                Newest attempts
              </Button>
              <Button disabled={!has_more} onClick={() => setBefore(attempt_log[0]?.number)}>
                Earlier attempts
              </Button>
            </nav>
          ) : null}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <pre className="body-text" tabIndex={0}>
            {pretty(body)}
          </pre>
        </>
      )}
    </Loaded>
  );
}

function answerOf({ status, error, response }: Attempt): string {
  const said = response ? `: ${response.slice(0, 200)}` : "";
  if (error !== null) return `${error}${said}`;
  return status === null ? "not known" : `${status}${said}`;
}

/** The body is JSON; indented it can be read. */
function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Shown as it is: what was sent is what matters.
    return body;
  }
}
