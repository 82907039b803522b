import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { ChainTransaction } from "../../contract.ts";
import { app } from "../data/app.ts";
import { latestQuery } from "../data/queries.ts";
import { coins, count, momentOf, percent, units } from "../ui/format.ts";
import { Card, Fact } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { namesOf } from "./labels.ts";
import { AddressValue } from "./value.tsx";

const TONES = { success: "good", reverted: "bad", pending: "wait" } as const;

/** Where and when a transaction was mined, by whom and at what cost. */
export function TransactionFacts({ transaction, method }: { transaction: ChainTransaction; method: string | null }) {
  const head = useQuery(latestQuery).data?.head_block ?? 0;
  const names = namesOf(app.contracts);
  const { status, block_number, timestamp, from, to, gas_used, fee_wei } = transaction;
  const { nonce, position, gas_limit, gas_price_wei } = transaction;
  return (
    <Card>
      <dl className="facts">
        <Fact label="Status">
          <Badge tone={TONES[status]}>{status}</Badge>
        </Fact>
        {method === null ? null : (
          <Fact label="Method">
            <code>{method}</code>
          </Fact>
        )}
        <Fact label="Block">
          {block_number === null ? (
            "not mined yet"
          ) : (
            <Link to={`/app/block/${block_number}`}>{count(block_number)}</Link>
          )}
        </Fact>
        <Fact label="Confirmations">
          {block_number === null || head < block_number ? "–" : count(head - block_number + 1)}
        </Fact>
        <Fact label="Time">{timestamp === null ? "–" : momentOf(timestamp)}</Fact>
        <Fact label="Position in the block">{position === null ? "–" : count(position)}</Fact>
        <Fact label="Nonce">{count(nonce)}</Fact>
        <Fact label="Gas used of its limit">
          {gas_used === null
            ? `– of ${count(gas_limit)}`
            : `${count(gas_used)} of ${count(gas_limit)} (${percent(gas_used / gas_limit)})`}
        </Fact>
        <Fact label="Gas price">{gas_price_wei === null ? "–" : `${units(BigInt(gas_price_wei), 9, 0)} gwei`}</Fact>
        <Fact label="Fee">{fee_wei === null ? "–" : `${coins(fee_wei)} ${app.currency}`}</Fact>
        <Fact label="From">
          <AddressValue address={from} names={names} />
        </Fact>
        <Fact label="To">{to === null ? "a new contract" : <AddressValue address={to} names={names} />}</Fact>
      </dl>
    </Card>
  );
}
