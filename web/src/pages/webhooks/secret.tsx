import { useState } from "react";
import type { OwnWebhook, Webhook } from "../../../contract.ts";
import { call } from "../../data/client.ts";
import { errorMessageOf } from "../../data/error-message.ts";
import { useChange } from "../../data/use-change.ts";
import { Button } from "../../ui/controls.tsx";
import { Secret } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { moment } from "../../ui/format.ts";
import { Failure, Notice } from "../../ui/page.tsx";
import { isSecret, SecretField } from "./new-webhook.tsx";

/** A secret that was just made, until its owner has stored it. */
export const SecretNotice = ({ secret, onStored }: { secret: string; onStored: () => void }) => (
  <Notice tone="good" title="Signing secret" actions={<Button onClick={onStored}>I have stored it</Button>}>
    <p>It is shown this once; your server verifies the header Service-Signature with it.</p>
    <Secret text={secret} what="signing secret" />
  </Notice>
);

/** Asks how long the old secret is to count, and makes a new one. */
export function NewSecret({
  webhook,
  onClose,
  onMade,
}: {
  webhook: OwnWebhook;
  onClose: () => void;
  onMade: (secret: string) => void;
}) {
  const isUnderWay = webhook.old_secret_until !== null;
  const [hours, setHours] = useState(isUnderWay ? 0 : 24);
  const [secret, setSecret] = useState("");
  const asked = { overlap_hours: hours, ...(secret === "" ? {} : { secret }) };
  const rotate = useChange(
    () => call<Required<Webhook>>("POST", `/webhooks/${webhook.id}/secret`, asked),
    (made) => onMade(made.secret),
  );
  return (
    <Dialog title="New signing secret" onClose={onClose}>
      <fieldset className="choices">
        <legend>The old secret</legend>
        {[
          [24, "counts for another 24 hours", "Your receiver may know either: no delivery is lost."],
          [0, "ends now", "For a secret that somebody else may know. What your receiver refuses is sent again later."],
        ].map(([value, label, about]) => (
          <label key={value}>
            <input
              type="radio"
              name="overlap"
              checked={hours === value}
              disabled={value !== 0 && isUnderWay}
              onChange={() => setHours(Number(value))}
            />
            <span>
              {label} <span className="hint">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <SecretField secret={secret} onChange={setSecret} />
      {rotate.error ? <Failure message={errorMessageOf(rotate.error)} /> : null}
      <div className="actions">
        <Button onClick={onClose}>Keep the secret</Button>
        <Button
          kind={hours === 0 ? "danger" : "primary"}
          busy={rotate.isPending}
          disabled={!isSecret(secret)}
          onClick={() => rotate.mutate()}
        >
          Make a new secret
        </Button>
      </div>
    </Dialog>
  );
}

/** While two secrets count: until when, and how to end that. */
export function OldSecret({ webhook }: { webhook: OwnWebhook }) {
  const retire = useChange(() => call("DELETE", `/webhooks/${webhook.id}/old-secret`));
  if (webhook.old_secret_until === null) return null;
  return (
    <Notice
      tone="info"
      title={`Two secrets count until ${moment(webhook.old_secret_until)}`}
      actions={
        <Button busy={retire.isPending} onClick={() => retire.mutate()}>
          End the old secret
        </Button>
      }
    >
      <p>
        The first attempt of a delivery is signed with the old secret, the second, 30 seconds later, with the new one.
        End the old secret when your receiver has the new one.
      </p>
      {retire.error ? <Failure message={errorMessageOf(retire.error)} /> : null}
    </Notice>
  );
}
