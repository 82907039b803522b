import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";

/** A larger one is left as it is: it would take many seconds, and text of 512 MB cannot be held at all. */
const LARGEST = 256 * 1024 * 1024;

type Block = { header: { number: string; timestamp: string } };
type State = { blocks: Block[]; transactions: { info: { traces: unknown[] } }[] };

/**
 * Puts a dump right before anvil (1.7.1) loads it.
 *
 * One block 0, the oldest: anvil makes a new one, of the present time, at every start, keeps it beside the one it loads,
 * and from the third start on takes any of them. Block 1 then has a parent that nobody knows, and an indexer of a short
 * chain takes that for a reorganisation.
 *
 * No traces: they are two thirds of a dump (17 kB a job become 6), and the whole of it is written at every interval.
 */
export function tidyState(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? Number.POSITIVE_INFINITY) > LARGEST) return;
  const state = parse(readFileSync(file, "utf8"));
  if (state === null) return;
  const blocks = withOneGenesis(state.blocks);
  const traced = state.transactions.filter(({ info }) => info.traces.length > 0);
  if (blocks.length === state.blocks.length && traced.length === 0) return;
  for (const { info } of traced) info.traces = [];
  writeFileSync(`${file}.tmp`, JSON.stringify({ ...state, blocks }));
  renameSync(`${file}.tmp`, file);
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
