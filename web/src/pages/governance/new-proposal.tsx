import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { type Address, encodeFunctionData, type Hex, isAddress, isHex, parseUnits } from "viem";
import { arbitrationPanelAbi, inferenceEscrowAbi, protocolTreasuryAbi } from "../../../../protocol/generated/abi.ts";
import { app } from "../../data/app.ts";
import { Button, Field, Form, Select } from "../../ui/controls.tsx";
import { Card, Notice } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { walletErrorMessage } from "../../wallet/errors.ts";
import { useConnectedTransaction } from "../../wallet/use-transaction.ts";
import { Actions, svcOf } from "./actions.tsx";
import { type Action, type Governance, governorOf, readVoter, tryAction } from "./chain.ts";

/** A form with its fields, and the function that makes a call of them; a text in place of the call says which field is wrong. */
type CallForm = {
  label: string;
  fields: readonly { name: string; label: string; hint: string; suffix?: string }[];
  build: (given: Record<string, string>) => Action | string;
};

const at = (name: string): Address => app.contracts[name] as Address;
const NO_ADDRESS = "is no address: 0x and 40 hex digits, with the right checksum.";

/** Units of a decimal number; null if it is none. */
function unitsOf(text: string, decimals: number): bigint | null {
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d+))?$/.exec(text.replaceAll(/[,\s]/g, "")) ?? [];
  if (whole === "" || fraction.length > decimals) return null;
  return parseUnits(fraction === "" ? whole : `${whole}.${fraction}`, decimals);
}

function payment(token: string, decimals: number): CallForm {
  return {
    label: `Pay ${token === "Stablecoin" ? "USDG" : "SVC"} from the treasury`,
    fields: [
      { name: "receiver", label: "To", hint: "Check it twice: this cannot be undone." },
      {
        name: "amount",
        label: "Amount",
        hint: "What the treasury does not have makes the execution fail.",
        suffix: token === "Stablecoin" ? "USDG" : "SVC",
      },
    ],
    build: ({ receiver = "", amount = "" }) => {
      if (!isAddress(receiver)) return `"To" ${NO_ADDRESS}`;
      const units = unitsOf(amount, decimals);
      if (units === null || units === 0n) return `"Amount" is no number with up to ${decimals} decimals.`;
      const args = [at(token), receiver, units] as const;
      const data = encodeFunctionData({ abi: protocolTreasuryAbi, functionName: "pay", args });
      return { target: at("ProtocolTreasury"), value: 0n, data };
    },
  };
}

const FORMS: Record<string, CallForm> = {
  pay: payment("Stablecoin", 6),
  "pay-svc": payment("ServiceToken", 18),
  fee: {
    label: "Announce a protocol fee",
    fields: [
      { name: "fee", label: "Fee", hint: "In force after the notice that the escrow demands.", suffix: "%" },
      { name: "share", label: "Operators’ share of it", hint: "A multiple of 5; half at most.", suffix: "%" },
    ],
    build: ({ fee = "", share = "" }) => {
      const bps = unitsOf(fee, 2);
      if (bps === null || bps > 10_000n) return `"Fee" is no percentage with up to two decimals.`;
      const percent = unitsOf(share, 0);
      if (percent === null || percent > 100n || percent % 5n !== 0n)
        return `"Operators’ share of it" is no percentage that is a multiple of 5.`;
      const args = [Number(bps), Number(percent / 5n)] as const;
      const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "scheduleFee", args });
      return { target: at("InferenceEscrow"), value: 0n, data };
    },
  },
  guardian: {
    label: "Name the guardian",
    fields: [{ name: "guardian", label: "Guardian", hint: "It can pause deposits and locks, and stop operators." }],
    build: ({ guardian = "" }) => {
      if (!isAddress(guardian)) return `"Guardian" ${NO_ADDRESS}`;
      const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "setGuardian", args: [guardian] });
      return { target: at("InferenceEscrow"), value: 0n, data };
    },
  },
  arbiters: {
    label: "Appoint arbiters",
    fields: [
      {
        name: "arbiters",
        label: "Arbiters",
        hint: "Their addresses, with commas between. They rule on disputes opened later.",
      },
      { name: "quorum", label: "Votes that make a ruling", hint: "More than half of them." },
    ],
    build: ({ arbiters = "", quorum = "" }) => {
      const all = arbiters.split(/[\s,]+/).filter((one) => one !== "");
      const wrong = all.find((one) => !isAddress(one));
      if (all.length === 0 || wrong !== undefined) return `"${wrong ?? "Arbiters"}" ${NO_ADDRESS}`;
      const votes = /^\d+$/.test(quorum) ? Number(quorum) : 0;
      if (votes * 2 <= all.length || votes > all.length) return "The votes must be more than half of the arbiters.";
      const args = [all as Address[], votes] as const;
      const data = encodeFunctionData({ abi: arbitrationPanelAbi, functionName: "setArbiters", args });
      return { target: at("ArbitrationPanel"), value: 0n, data };
    },
  },
  call: {
    label: "Any call, as its bytes",
    fields: [
      { name: "target", label: "Contract", hint: "The timelock calls it." },
      { name: "data", label: "Calldata", hint: "0x and hex digits. It is decoded below, before you propose it." },
    ],
    build: ({ target = "", data = "" }) => {
      if (!isAddress(target)) return `"Contract" ${NO_ADDRESS}`;
      if (!isHex(data) || data.length % 2 !== 0) return `"Calldata" must be 0x and an even number of hex digits.`;
      return { target, value: 0n, data: data.toLowerCase() as Hex };
    },
  },
};

/** Makes a proposal of one call or of several, which are executed together or not at all. */
export function NewProposal({ node, rules, address }: { node: string; rules: Governance["rules"]; address: Address }) {
  const id = useId();
  const [kind, setKind] = useState("pay");
  const [given, setGiven] = useState<Record<string, string>>({});
  const [actions, setActions] = useState<readonly Action[]>([]);
  const [description, setDescription] = useState("");
  const { state, busy, send } = useConnectedTransaction();
  const voter = useQuery({ queryKey: ["voter", node, address], queryFn: () => readVoter(node, address) });
  const form = FORMS[kind] as CallForm;
  const built = form.build(trimmed(given));
  const isUntouched = form.fields.every(({ name }) => (given[name] ?? "") === "");
  const mayPropose = voter.data !== undefined && voter.data.votes >= rules.threshold;
  const propose = async () => {
    const args = [
      actions.map(({ target }) => target),
      actions.map(({ value }) => value),
      actions.map(({ data }) => data),
    ];
    if (!(await send({ ...governorOf(), functionName: "propose", args: [...args, description.trim()] }))) return;
    setActions([]);
    setDescription("");
  };
  return (
    <Card title="Propose">
      {mayPropose || voter.data === undefined ? null : (
        <Notice tone="info" title="Your wallet cannot propose">
          <p>
            That needs {svcOf(rules.threshold)} in votes, and you have {svcOf(voter.data.votes)}.
          </p>
        </Notice>
      )}
      <Form
        onSubmit={() => {
          if (typeof built === "string") return;
          setActions([...actions, built]);
          setGiven({});
        }}
      >
        <Select
          label="What it does"
          value={kind}
          onChange={(event) => {
            setKind(event.target.value);
            setGiven({});
          }}
        >
          {Object.entries(FORMS).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </Select>
        {form.fields.map(({ name, ...field }) => (
          <Field
            key={name}
            {...field}
            className={field.suffix === undefined ? "mono" : ""}
            value={given[name] ?? ""}
            onChange={(event) => setGiven({ ...given, [name]: event.target.value })}
          />
        ))}
        {typeof built === "string" ? (
          <p className="hint wrong">{isUntouched ? "" : built}</p>
        ) : (
          <Preview action={built} node={node} />
        )}
        <Button type="submit" disabled={typeof built === "string"}>
          Add to the proposal
        </Button>
      </Form>
      {actions.length === 0 ? null : (
        <Form onSubmit={propose}>
          <h3>The proposal</h3>
          <Actions actions={actions} />
          <div className="field">
            <label htmlFor={id}>Why</label>
            <textarea id={id} rows={4} value={description} onChange={(event) => setDescription(event.target.value)} />
            <p className="hint">It stands on the chain for ever, for everybody to read.</p>
          </div>
          <div className="actions">
            <Button type="submit" kind="primary" busy={busy} disabled={!mayPropose || description.trim() === ""}>
              Propose
            </Button>
            <Button onClick={() => setActions(actions.slice(0, -1))} disabled={busy}>
              Take the last call out
            </Button>
          </div>
        </Form>
      )}
      <ActionStatus state={state} done="Proposed" />
    </Card>
  );
}

const trimmed = (given: Record<string, string>) =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.trim()]));

/** The call decoded, and what the contracts would say to it today. */
function Preview({ action, node }: { action: Action; node: string }) {
  const tried = useQuery({
    queryKey: ["tried", node, action.target, action.data],
    queryFn: async () => ({ refused: await tryAction(node, action) }),
    retry: false,
  });
  const refused = tried.data?.refused;
  return (
    <div className="preview">
      <Actions actions={[action]} />
      {refused ? (
        <Notice tone="warn" title="It would be refused today">
          <p>{walletErrorMessage(refused).text}</p>
        </Notice>
      ) : null}
    </div>
  );
}
