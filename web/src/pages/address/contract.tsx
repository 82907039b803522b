import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { Abi, AbiFunction, AbiParameter, Address } from "viem";
import { readerOf } from "../../../../shared/contract-reader.ts";
import { app } from "../../data/app.ts";
import { askNode } from "../../explorer/ask-node.ts";
import { abiOf, decodeTransactions } from "../../explorer/decode.ts";
import { EventsByTransaction } from "../../explorer/events.tsx";
import { namesOf, textOf } from "../../explorer/labels.ts";
import { NodeChoice, useNode } from "../../explorer/node.tsx";
import type { PlacedLog } from "../../explorer/node-logs.ts";
import { Button, Form } from "../../ui/controls.tsx";
import { Code } from "../../ui/copy.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Empty, Folded } from "../../ui/page.tsx";
import { walletErrorMessage } from "../../wallet/errors.ts";
import { NodeList } from "./node-list.tsx";

type ContractProps = { name: string; address: Address };

/** The newest events of a contract of the deployment, decoded here. */
export const ContractEvents = ({ name, address }: ContractProps) => (
  <NodeList
    name={`events ${address}`}
    filters={[{ address }]}
    says="Your browser asks this node for the contract's events."
    empty={`${name} has emitted no events yet`}
  >
    {(logs) => <EventsByTransaction transactions={decoded(logs)} names={namesOf(app.contracts)} />}
  </NodeList>
);

/** The transactions with these logs, decoded. */
function decoded(logs: readonly PlacedLog[]) {
  const transactions = [...Map.groupBy(logs, ({ tx }) => tx)].map(([hash, all]) => ({
    hash,
    block_number: all[0]?.block ?? null,
    logs: all,
  }));
  return decodeTransactions(transactions, app.contracts);
}

/** The contract's functions that change nothing: each is called at the visitor's node. */
export function ReadFunctions({ name, address }: ContractProps) {
  const { node, choose } = useNode();
  const functions = abiOf(name).filter(
    (item): item is AbiFunction =>
      item.type === "function" && (item.stateMutability === "view" || item.stateMutability === "pure"),
  );
  return (
    <>
      <div className="groups">
        {functions.map((item) => (
          <Folded
            key={item.name + item.inputs.map(({ type }) => type).join()}
            summary={
              <>
                <code>{item.name}</code>
                <span className="hint">
                  {item.inputs.map(({ name: of, type }) => of || type).join(", ") || "no arguments"}
                </span>
              </>
            }
          >
            {() => <Call item={item} address={address} node={node} />}
          </Folded>
        ))}
      </div>
      <NodeChoice url={node} onChange={choose} says="Your browser asks this node; nothing is signed or sent." />
    </>
  );
}

function Call({ item, address, node }: { item: AbiFunction; address: Address; node: string | null }) {
  const [given, setGiven] = useState<string[]>(item.inputs.map(() => ""));
  const abi: Abi = [item];
  const call = useMutation({
    mutationFn: async () => {
      if (node === null) throw new Error("Name a node below first.");
      const args = item.inputs.map((input, index) => argumentOf(input, given[index] ?? ""));
      return await askNode<unknown>(node, (client) => readerOf(client, { address, abi })(item.name, args));
    },
  });
  const id = useId();
  return (
    <Form onSubmit={() => call.mutate()}>
      {item.inputs.map((input, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an argument is its place
        <div className="field" key={index}>
          <label htmlFor={`${id} ${index}`}>
            {input.name || "argument"} <span className="hint">{input.type}</span>
          </label>
          <div className="input">
            <input
              id={`${id} ${index}`}
              className="mono"
              autoComplete="off"
              spellCheck={false}
              value={given[index]}
              onChange={(event) => setGiven(given.with(index, event.target.value))}
            />
          </div>
        </div>
      ))}
      <Button type="submit" busy={call.isPending}>
        Read
      </Button>
      <div aria-live="polite">
        {call.error ? <p className="hint wrong">{walletErrorMessage(call.error).text}</p> : null}
        {call.isSuccess ? <Code text={resultOf(item, call.data)} what={`answer of ${item.name}`} /> : null}
      </div>
    </Form>
  );
}

/** A typed argument as the ABI takes it: lists as JSON. */
function argumentOf({ type, name }: AbiParameter, text: string): unknown {
  const typed = text.trim();
  if (typed === "" && type !== "string") throw new Error(`${name || type}: is missing.`);
  if (type.endsWith("]")) {
    try {
      return JSON.parse(typed);
    } catch {
      throw new Error(`${name || type}: must be JSON, such as [1, 2].`);
    }
  }
  if (/^u?int/.test(type)) {
    if (!/^-?\d+$/.test(typed)) throw new Error(`${name || type}: must be a whole number, not '${typed}'.`);
    return BigInt(typed);
  }
  return typed;
}

/** Each output with its name. */
function resultOf({ outputs }: AbiFunction, result: unknown): string {
  const write = (value: unknown) =>
    typeof value === "object" && value !== null
      ? JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? String(inner) : inner), 2)
      : textOf(value);
  const values = outputs.length === 1 ? [result] : (result as unknown[]);
  return outputs
    .map(({ name, type }, index) => `${name ? `${name} ` : ""}(${type}): ${write(values[index])}`)
    .join("\n");
}

/** Source texts as the build found them: each is loaded when somebody reads it. */
const SOURCES = import.meta.glob<string>("../../../../contracts/*.sol", { query: "?raw", import: "default" });

/** The source that this build of the service has, and the ABI. Whether the chain runs that source, an explorer with its own compiler tells. */
export function SourceAndAbi({ name }: { name: string }) {
  const load = SOURCES[`../../../../contracts/${name}.sol`];
  const source = useQuery({
    queryKey: ["source", name],
    queryFn: async () => (await load?.()) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <Folded summary="ABI" className="folded">
        {() => <Code text={JSON.stringify(abiOf(name), null, 2)} what={`ABI of ${name}`} />}
      </Folded>
      <Loaded query={source} rows={8} height={20}>
        {(text) =>
          text === null ? (
            <Empty title="The source of this contract is not part of this service" />
          ) : (
            <div className="source">
              <Code text={text} what={`source of ${name}`} />
            </div>
          )
        }
      </Loaded>
      <p className="hint">
        This is the source that this service was built with. It imports other files of the folder <code>contracts</code>
        .
      </p>
    </>
  );
}
