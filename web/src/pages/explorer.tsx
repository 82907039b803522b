import { useState } from "react";
import { useNavigate } from "react-router";
import { app } from "../data/app.ts";
import { pathOf } from "../explorer/find.ts";
import { Button, Field } from "../ui/controls.tsx";
import { Hash } from "../ui/copy.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";

/** Where to begin: look up a transaction or a job, and the addresses of the contracts. */
export function Explorer() {
  const { contracts, chain_name, chain_id } = app;
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const go = () => {
    const path = pathOf(text);
    if (path === null) setWrong(true);
    else void navigate(path);
  };
  return (
    <Page title="Explorer" about={`Transactions and jobs on ${chain_name} (chain ${chain_id}), open to everyone.`}>
      <Card>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            go();
          }}
        >
          <Field
            label="Transaction hash or job id"
            name="search"
            className="mono"
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setWrong(false);
            }}
            error={wrong ? "Neither a transaction hash (0x and 64 hex digits) nor a job id (job_ and 32)." : null}
            hint="Every response names both, in its headers x-service-tx-hash and x-service-job-id."
          />
          <Button type="submit" kind="primary" disabled={text.trim() === ""}>
            Look it up
          </Button>
        </form>
      </Card>
      <Card title="Contracts">
        <dl className="facts wide">
          {Object.entries(contracts).map(([name, address]) => (
            <Fact key={name} label={name}>
              <Hash value={address} what={`address of ${name}`} />
            </Fact>
          ))}
        </dl>
      </Card>
    </Page>
  );
}
