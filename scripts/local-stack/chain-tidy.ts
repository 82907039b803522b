import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";

/** A larger one is left as it is: it would take many seconds, and text of 512 MB cannot be held at all. */
const LARGEST = 256 * 1024 * 1024;

type Block = { header: { number: string; timestamp: string } };
type Transaction = { info: { from: string; nonce: number; traces: unknown[] }; block_number: number };
type State = {
  block: { number: string } | null;
  best_block_number: number;
  blocks: Block[];
  transactions: Transaction[];
  accounts: Record<string, { nonce: number; code: string }>;
};

/**
 * Puts a dump right before anvil (1.7.1) loads it.
 *
 * One block 0, the oldest: anvil makes a new one, of the present time, at every start, keeps it beside the one it loads,
 * and from the third start on takes any of them. Block 1 then has a parent that nobody knows, and an indexer of a short
 * chain takes that for a reorganisation.
 *
 * No height above the last block: see `endAtLastBlock`.
 *
 * No traces: they are two thirds of a dump (17 kB a job become 6), and the whole of it is written at every interval.
 */
export function tidyState(file: string): void {
  const state = readState(file);
  if (state === null) return;
  const blocks = withOneGenesis(state.blocks);
  const traced = state.transactions.filter(({ info }) => info.traces.length > 0);
  const torn = endAtLastBlock(state);
  if (blocks.length === state.blocks.length && traced.length === 0 && !torn) return;
  for (const { info } of traced) info.traces = [];
  writeFileSync(`${file}.tmp`, JSON.stringify({ ...state, blocks }));
  renameSync(`${file}.tmp`, file);
}

/**
 * anvil goes on mining while it writes a dump: the height, the blocks and the accounts in it can be of three moments. A height above the
 * last block would leave a gap in the chain for ever, which no indexer gets over. Returns whether there was one.
 */
function endAtLastBlock(state: State): boolean {
  const last = state.blocks.reduce((highest, { header }) => Math.max(highest, Number(header.number)), 0);
  if (state.best_block_number === last) return false;
  state.best_block_number = last;
  if (state.block !== null) state.block.number = `0x${last.toString(16)}`;
  return true;
}

/**
 * How many transactions the accounts of a dump have seen that its blocks do not have: balances and jobs that no event tells of. 0 for
 * one that cannot be read.
 */
export function untoldTransactions(file: string): number {
  const state = readState(file);
  if (state === null) return 0;
  const told = new Map<string, number>();
  for (const { info } of state.transactions) {
    const from = info.from.toLowerCase();
    told.set(from, Math.max(told.get(from) ?? 0, info.nonce + 1));
  }
  return Object.entries(state.accounts).reduce((untold, [address, { nonce, code }]) => {
    // A contract's nonce counts the contracts that it made.
    if (code !== "" && code !== "0x") return untold;
    return untold + Math.max(0, nonce - (told.get(address.toLowerCase()) ?? 0));
  }, 0);
}

function readState(file: string): State | null {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? Number.POSITIVE_INFINITY) > LARGEST) return null;
  return parse(readFileSync(file, "utf8"));
}

function withOneGenesis(blocks: Block[]): Block[] {
  const isGenesis = ({ header }: Block): boolean => Number(header.number) === 0;
  const first = Math.min(...blocks.filter(isGenesis).map(({ header }) => Number(header.timestamp)));
  return blocks.filter((block) => !isGenesis(block) || Number(block.header.timestamp) === first);
}

function parse(text: string): State | null {
  try {
    return JSON.parse(text) as State;
  } catch {
    // Damaged: anvil will say so, and the copy is taken.
    return null;
  }
}
