import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import {
  type Abi,
  type AbiFunction,
  type AbiParameter,
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
} from "viem";
import { app } from "../../data/app.ts";
import { abiOf, decodeTransactions } from "../../explorer/decode.ts";
import { Events } from "../../explorer/events.tsx";
import { namesOf, textOf } from "../../explorer/labels.ts";
import { NodeChoice, useNode } from "../../explorer/node.tsx";
import { askNode, type PlacedLog } from "../../explorer/node-logs.ts";
import { Button, Form } from "../../ui/controls.tsx";
import { Code } from "../../ui/copy.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Empty, Folded } from "../../ui/page.tsx";
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
    {(logs) => <Events events={decoded(logs)} names={namesOf(app.contracts)} />}
  </NodeList>
);

const NOTHING_KNOWN = {
  from: "0x",
  to: null,
  timestamp: null,
  gas_used: null,
  fee_wei: null,
  input: null,
  reverted: null,
} as const;
const NO_PLACE = { nonce: 0, position: null, gas_limit: 0, gas_price_wei: null } as const;

function decoded(logs: readonly PlacedLog[]) {
  const groups = [...Map.groupBy(logs, ({ tx }) => tx)];
  const transactions = groups.map(([hash, all]) => ({
    ...NOTHING_KNOWN,
    ...NO_PLACE,
    hash,
    status: "success" as const,
    block_number: all[0]?.block ?? null,
    logs: all,
  }));
  return decodeTransactions(transactions, app.contracts).flatMap(({ events }) => events);
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
      const data = encodeFunctionData({ abi, functionName: item.name, args });
      const answer = await askNode<Hex>(node, "eth_call", [{ to: address, data }, "latest"]);
      return decodeFunctionResult({ abi, functionName: item.name, data: answer });
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
        {call.error ? <p className="hint wrong">{firstLine(call.error)}</p> : null}
        {call.isSuccess ? <Code text={resultOf(item, call.data)} what={`answer of ${item.name}`} /> : null}
      </div>
    </Form>
  );
}

/** viem writes whole calls into its errors: the first line says what was wrong. */
const firstLine = (error: Error): string => error.message.split("\n")[0] ?? "";

/** A typed argument as the ABI takes it: lists and structures as JSON. */
function argumentOf({ type, name }: AbiParameter, text: string): unknown {
  const typed = text.trim();
  if (typed === "" && type !== "string") throw new Error(`${name || type}: is missing.`);
  if (type.endsWith("]") || type.startsWith("tuple")) {
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
  return type === "bool" ? typed === "true" : typed;
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
