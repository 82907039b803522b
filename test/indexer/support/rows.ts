/** Rows of the index whole: the gateway reads only the columns that its answers need. */
import type { Address, Hex } from "viem";
import { type Reader, read } from "../../../api/db/index-reads.ts";
import { ACCOUNT, EVENT, JOB, view } from "../../../api/db/index-rows.ts";
import { column, type RowOf, select } from "../../../api/db/pool.ts";

const WHOLE_JOB = {
  ...JOB,
  creditsLocked: column<number>(),
  creditsReturned: column<number>(),
  attempt: column<number>(),
  acknowledgedAt: column<number | null>(),
  provenAt: column<number | null>(),
  finalizeFrom: column<number | null>(),
  endedAt: column<number | null>(),
  acknowledgeTx: column<Hex | null>(),
  returnTx: column<Hex | null>(),
  completionTokens: column<number | null>(),
  reasoningTokens: column<number | null>(),
  textBytes: column<number | null>(),
  workerUnits: column<number | null>(),
  feeUnits: column<number | null>(),
};
const WHOLE_ACCOUNT = {
  ...ACCOUNT,
  sequence: column<number>(),
  forfeited: column<number>(),
  openDisputes: column<number>(),
};
const WHOLE_EVENT = {
  ...EVENT,
  key: column<string>(),
  subject: column<string>(),
  wallet: column<Address | null>(),
  worker: column<Address | null>(),
  position: column<number>(),
};
export type WholeEvent = RowOf<typeof WHOLE_EVENT>;

const only = <Row>([row]: Row[]): Row | null => row ?? null;

/** The job with this id on chain. */
export async function wholeJob(reader: Reader, id: Hex): Promise<RowOf<typeof WHOLE_JOB> | null> {
  return only(await read(reader, "whole_job", `SELECT ${select(WHOLE_JOB)} FROM ${view("job")} WHERE id = $1`, [id]));
}

export async function wholeAccount(reader: Reader, wallet: string): Promise<RowOf<typeof WHOLE_ACCOUNT> | null> {
  const text = `SELECT ${select(WHOLE_ACCOUNT)} FROM ${view("account")} WHERE wallet = $1`;
  return only(await read(reader, "whole_account", text, [wallet.toLowerCase()]));
}

/** All that the index tells of, in the order of the chain, or what it tells of a wallet. */
export async function listEvents(reader: Reader, wallet?: string): Promise<WholeEvent[]> {
  const text = `SELECT ${select(WHOLE_EVENT)} FROM ${view("protocol_event")} WHERE $1::text IS NULL OR wallet = $1 ORDER BY position`;
  return await read(reader, "whole_events", text, [wallet?.toLowerCase() ?? null]);
}

/** What it tells of a job. */
export async function eventsOfJob(reader: Reader, id: Hex): Promise<WholeEvent[]> {
  const text = `SELECT ${select(WHOLE_EVENT)} FROM ${view("protocol_event")} WHERE job_id = $1 ORDER BY position`;
  return await read(reader, "whole_events_of_job", text, [id]);
}
