import { type ReactNode, useState } from "react";
import { app } from "../../data/app.ts";
import { AnswerInput } from "../../explorer/hash-box.tsx";
import type { Moment, Verdict } from "../../explorer/verdict.ts";
import { useNow } from "../../ui/clock.ts";
import { Button } from "../../ui/controls.tsx";
import { Code, Hash } from "../../ui/copy.tsx";
import { clock, countdown, creditsOf, day, moment, USDG_IS, units } from "../../ui/format.ts";
import { Card, Notice } from "../../ui/page.tsx";
import { TxHash } from "../../wallet/action-status.tsx";

/** The moments of the job by the clock of the chain, and the window that ends next. */
export function TimeLine({ moments, deadline }: Pick<Verdict, "moments" | "deadline">) {
  const first = moments[0]?.at ?? 0;
  return (
    <Card title="Time line" aside={<span className="hint">{day(first)}</span>}>
      <ol className="receipt">
        {moments.map(({ title, at, tx }) => (
          <Step key={`${title} ${at} ${tx}`} title={title} at={at} first={first} done>
            {at === first ? "" : `+${at - first} s`}
            {tx === null ? "by the worker's signature" : <TxHash hash={tx} />}
          </Step>
        ))}
        {deadline === null ? null : <Deadline deadline={deadline} first={first} />}
      </ol>
    </Card>
  );
}

function Deadline({ deadline: { title, at }, first }: { deadline: Moment; first: number }) {
  const left = at * 1_000 - useNow();
  return (
    <Step title={title} at={at} first={first} done={left <= 0}>
      <span role="timer">{left > 0 ? `in ${countdown(left)}` : "over"}</span>
    </Step>
  );
}

type StepProps = { title: string; at: number; first: number; done: boolean; children: ReactNode };

/** With the time of day; on another day than the first, with the day below it. */
function Step({ title, at, first, done, children }: StepProps) {
  const iso = new Date(at * 1_000).toISOString();
  const isThatDay = day(at) === day(first);
  const time = (
    <time className="hint" dateTime={iso} title={iso}>
      {isThatDay ? clock(at) : moment(iso)}
    </time>
  );
  return (
    <li className={done ? "step done" : "step"}>
      <p className="step-title">
        {title}
        {isThatDay ? time : null}
      </p>
      <div className="step-text">
        {children}
        {isThatDay ? null : time}
      </div>
    </li>
  );
}

/** Whose the locked credits are now: one bar, its numbers as text, and what came back later. */
export function MoneyCard({ shares, givenBack }: Pick<Verdict, "shares" | "givenBack">) {
  const all = shares.reduce((sum, share) => sum + share.units, 0n);
  return (
    <Card title="Money" aside={<span className="hint">of {creditsOf(all)} locked</span>}>
      <div className="split" aria-hidden="true">
        {shares.map(({ to, units }) => (
          <span key={to} className={classOf(to)} style={{ flexGrow: Number(units) }} />
        ))}
      </div>
      <dl className="shares">
        {shares.map(({ to, units: value }) => (
          <div key={to}>
            <dt className={classOf(to)}>{to}</dt>
            <dd>
              <strong>{creditsOf(value)}</strong> <span className="hint">{units(value, 6)} USDG</span>
            </dd>
          </div>
        ))}
      </dl>
      <p className="hint">{USDG_IS}</p>
      {givenBack === 0n ? null : (
        <p>
          After the dispute, <strong>{creditsOf(givenBack)}</strong> came back to the client: from the operator's
          reserve or the treasury.
        </p>
      )}
    </Card>
  );
}

const classOf = (to: string): string => `share ${to.split(" ")[0]?.toLowerCase()}`;

/** Checks whether a text is the one that this job's worker signed. `proof`: its hash, null while there is none. */
export function AnswerCard({ proof }: { proof: string | null }) {
  const [hash, setHash] = useState<string | null>(null);
  return (
    <Card title="Is it the answer you got?">
      <AnswerInput label="Answer as you received it" onHash={setHash} />
      <div aria-live="polite">
        {hash === null ? null : proof === null ? (
          <Notice tone="info" title="This job has no proof yet">
            <p>Its worker has signed nothing that the chain knows.</p>
          </Notice>
        ) : hash === proof ? (
          <Notice tone="good" title="This is the answer that this job's worker signed">
            <p className="row-start">
              Its SHA-256 is the job's proof: <Hash value={hash} what="hash of the text" />
            </p>
          </Notice>
        ) : (
          <Notice tone="warn" title="This is another text than this job's worker signed">
            <p>Every character counts, spaces included: copy the whole answer.</p>
            <p className="row-start">
              Its SHA-256 is <Hash value={hash} what="hash of the text" />
            </p>
            <p className="row-start">
              The job's proof is <Hash value={proof} what="proof hash" />
            </p>
          </Notice>
        )}
      </div>
    </Card>
  );
}

/** The same audit without this page: the command, and what was found as a file. */
export function CommandCard({ jobId, node, verdict }: { jobId: string; node: string | null; verdict: Verdict | null }) {
  const escrow = app.contracts["InferenceEscrow"];
  const from = app.start_block > 0 ? ` --start-block ${app.start_block}` : "";
  const command = `npx cmi-verify job ${jobId} --rpc ${node === null ? "<URL>" : quoted(node)} --escrow ${escrow}${from}`;
  return (
    <Card title="Check it without this page">
      <Code text={command} what="verify command" />
      <div className="row">
        <p className="hint">
          It needs Node.js and the package <code>verify</code> of this service's operator, and asks the node alone.
        </p>
        <Button disabled={verdict === null} onClick={() => verdict && download(`${jobId}.json`, verdict)}>
          Download JSON
        </Button>
      </div>
    </Card>
  );
}

/** As a shell takes it: a node's address can hold an ampersand. */
const quoted = (text: string): string => (/^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function download(name: string, verdict: Verdict): void {
  const text = JSON.stringify(verdict, (_, value) => (typeof value === "bigint" ? String(value) : value), 2);
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}
