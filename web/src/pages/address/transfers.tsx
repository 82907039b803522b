import { Link } from "react-router";
import { type Address, getAddress } from "viem";
import type { LogFilter } from "../../../../verify/chain.ts";
import { addressTopic, eventTopic } from "../../../../verify/events.ts";
import { app } from "../../data/app.ts";
import { namesOf } from "../../explorer/labels.ts";
import type { PlacedLog } from "../../explorer/node-logs.ts";
import { AddressValue } from "../../explorer/value.tsx";
import { count, short, units } from "../../ui/format.ts";
import { Table } from "../../ui/table.tsx";
import { NodeList } from "./node-list.tsx";

const TOKENS: Record<string, { name: string; decimals: number }> = {
  Stablecoin: { name: "USDG", decimals: 6 },
  ServiceToken: { name: "SVC", decimals: 18 },
};

/** Transfers of the stablecoin and of SVC from and to an address. */
export default function Transfers({ address }: { address: Address }) {
  const [transfer, topic] = [eventTopic("stablecoin", "Transfer"), addressTopic(address)];
  const tokens = Object.keys(TOKENS).flatMap((name) => app.contracts[name] ?? []);
  const filters: LogFilter[] = [
    { address: tokens, topics: [transfer, topic] },
    { address: tokens, topics: [transfer, null, topic] },
  ];
  return (
    <NodeList
      name={`transfers ${address.toLowerCase()}`}
      filters={filters}
      says="Your browser asks this node for the transfers of USDG and SVC."
      empty="No transfer of USDG or SVC"
    >
      {(logs) => <TransferTable logs={logs} address={address} />}
    </NodeList>
  );
}

function TransferTable({ logs, address }: { logs: readonly PlacedLog[]; address: string }) {
  const names = namesOf(app.contracts);
  const columns = ["Transaction", "Way", { end: "Amount" }, "From", "To", { end: "Block" }];
  return (
    <Table caption="Transfers, newest first" columns={columns}>
      {logs.map(({ address: token, topics, data, block, tx, log_index }) => {
        const { name, decimals } = TOKENS[names.get(token.toLowerCase()) ?? ""] ?? { name: "", decimals: 0 };
        const [from, to] = topics.slice(1).map((topic) => getAddress(`0x${topic.slice(26)}`)) as [Address, Address];
        return (
          <tr key={`${block} ${log_index}`}>
            <td>
              <Link to={`/app/tx/${tx}`}>
                <code title={tx}>{short(tx)}</code>
              </Link>
            </td>
            <td>{to.toLowerCase() === address.toLowerCase() ? "in" : "out"}</td>
            <td className="end">
              {units(BigInt(data), decimals)} {name}
            </td>
            <td>
              <AddressValue address={from} names={names} />
            </td>
            <td>
              <AddressValue address={to} names={names} />
            </td>
            <td className="end">
              <Link to={`/app/block/${block}`}>{count(block)}</Link>
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
