import { useState } from "react";
import { nodeHost, nodeUrlFault } from "../../../shared/node-url.ts";
import { app } from "../data/app.ts";
import { Button, Field, Form } from "../ui/controls.tsx";

/** The key under which the browser keeps the visitor's own node. */
const NODE = "node of the visitor";

/** The node that the browser asks by itself: the visitor's choice, or the service's proposal; null where there is neither. */
export function useNode() {
  const [node, setNode] = useState(localStorage.getItem(NODE) ?? app.rpc_url);
  const choose = (url: string) => {
    localStorage.setItem(NODE, url);
    setNode(url);
  };
  return { node, choose };
}

/** The node that was asked, and a field for another one. `says`: what it is asked for. */
export function NodeChoice({
  url,
  onChange,
  says,
}: {
  url: string | null;
  onChange: (url: string) => void;
  says: string;
}) {
  const [typed, setTyped] = useState<string | null>(url === null ? "" : null);
  const fault = typed === null || typed === "" ? null : nodeUrlFault(typed, "The address");
  const submit = () => {
    if (typed === null || typed === "" || fault !== null) return;
    onChange(typed);
    setTyped(null);
  };
  if (typed === null) {
    return (
      <p className="row">
        <span className="hint">
          Checked in your browser with the node at {nodeHost(url as string)}; this service is not asked.
        </span>
        <Button kind="quiet" onClick={() => setTyped(url ?? "")}>
          Use another node
        </Button>
      </p>
    );
  }
  return (
    <Form onSubmit={submit}>
      <Field
        label="Node of the settlement chain"
        type="url"
        value={typed}
        placeholder="https://…"
        onChange={(event) => setTyped(event.target.value)}
        error={fault}
        hint={says}
      />
      <div className="actions">
        <Button type="submit" kind="primary" disabled={typed === "" || fault !== null}>
          Check with this node
        </Button>
        {url === null ? null : <Button onClick={() => setTyped(null)}>Cancel</Button>}
      </div>
    </Form>
  );
}
