import { type Address, erc20Abi } from "viem";
import { auditRange, type Ledger, type RangeAudit } from "../../protocol/audit/audit-range.ts";
import { isBalanceEvent, NO_ACCOUNT, walletOf } from "../../protocol/audit/balances.ts";
import {
  type AnyEvent,
  addressTopic,
  eventsOf,
  eventTopic,
  inChainOrder,
  jobOfEvent,
} from "../../protocol/audit/event-log.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import type { AccountWord } from "../../protocol/words.ts";
import type { Chain } from "./chain.ts";
import { firstLine, VerifyError } from "./errors.ts";
import type { EvidenceReader } from "./evidence-reader.ts";

/** Reads and audits the blocks `from` to `to`, both inclusive. */
export async function verifyRange(reader: EvidenceReader, from: bigint, to: bigint): Promise<RangeAudit> {
  const { chain, addresses } = reader;
  const { escrow, stablecoin } = addresses;
  if (to > chain.head) throw new VerifyError(`--to-block ${to} is not mined yet: the newest block is ${chain.head}`);
  const transfer = eventTopic("stablecoin", "Transfer");
  const self = addressTopic(escrow);
  const [own, incoming, outgoing] = await Promise.all([
    reader.events({ address: escrow }, from, to),
    reader.events({ address: stablecoin, topics: [transfer, null, self] }, from, to),
    reader.events({ address: stablecoin, topics: [transfer, self] }, from, to),
  ]);
  const events = inChainOrder([...own, ...incoming, ...outgoing]);
  const earlier = await earlierEvents(reader, events, from);
  const wallets = [...new Set(events.filter(isBalanceEvent).map((event) => walletOf(event).toLowerCase() as Address))];
  const [opening, closing, accounts] = await Promise.all([
    ledgerAt(reader, from - 1n),
    ledgerAt(reader, to),
    openingAccounts(reader, wallets, from - 1n),
    chain.readTimes(eventsOf(events, "escrow", "Compensated").map(({ block }) => block)),
  ]);
  return auditRange({
    from,
    to,
    escrow,
    events,
    earlier,
    configuration: reader.configuration,
    opening,
    closing,
    openingOf: (wallet) => accounts.get(wallet) ?? NO_ACCOUNT,
    timeOf: chain.timeOf,
  });
}

/** What happened before the range to the jobs in it. */
async function earlierEvents(reader: EvidenceReader, events: readonly AnyEvent[], from: bigint): Promise<AnyEvent[]> {
  if (from <= reader.chain.startBlock) return [];
  const jobs = [...new Set(events.flatMap((event) => jobOfEvent(event) ?? []))];
  const locked = new Set(events.filter(({ name }) => name === "JobLocked").map(jobOfEvent));
  return await reader.ofJobs(
    jobs.filter((jobId) => !locked.has(jobId)),
    null,
    from - 1n,
  );
}

/** What the escrow owes and holds at a block; nothing before it existed. */
async function ledgerAt({ chain, birth }: EvidenceReader, block: bigint): Promise<Ledger> {
  if (block < birth) return { credits: 0n, claimableUnits: 0n, tokenUnits: 0n };
  const { escrow, stablecoin } = chain.addresses;
  const at = { blockNumber: block };
  return await atBlock(chain, birth, block, async () => {
    const [[credits, claimableUnits], tokenUnits] = await Promise.all([
      chain.client.readContract({ address: escrow, abi: inferenceEscrowAbi, functionName: "liabilities", ...at }),
      chain.client.readContract({
        address: stablecoin,
        abi: erc20Abi,
        functionName: "balanceOf",
        args: [escrow],
        ...at,
      }),
    ]);
    return { credits, claimableUnits, tokenUnits };
  });
}

async function openingAccounts(
  { chain, addresses, birth }: EvidenceReader,
  wallets: readonly Address[],
  block: bigint,
) {
  const found = new Map<Address, AccountWord>();
  if (block < birth) return found;
  const accounts = { address: addresses.escrow, abi: inferenceEscrowAbi, functionName: "accountOf" } as const;
  await atBlock(chain, birth, block, async () => {
    for (const wallet of wallets) {
      found.set(wallet, await chain.client.readContract({ ...accounts, args: [wallet], blockNumber: block }));
    }
  });
  return found;
}

/** Nodes that are no archives forget the state of older blocks. */
async function atBlock<T>(chain: Chain, birth: bigint, block: bigint, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new VerifyError(
      `the node cannot tell the state of block ${block} (${firstLine(error)}). Use an archive node, or a range from the deployment (--from-block ${birth}) to the newest block (${chain.head}).`,
    );
  }
}
