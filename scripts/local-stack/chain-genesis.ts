import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";

/** Reading more than this takes seconds. A chain that long has left its first block far behind. */
const LARGEST = 64 * 1024 * 1024;

type Block = { header: { number: string; timestamp: string } };

/**
 * Leaves one block 0 in a dump: the oldest. anvil (1.7.1) makes a new one, of the present time, at every start, keeps
 * it beside the one it loads, and from the third start on takes any of them: block 1 then has a parent that nobody
 * knows, and an indexer of a short chain takes that for a reorganisation.
 */
export function keepFirstGenesis(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? Number.POSITIVE_INFINITY) > LARGEST) return;
  const state = parse(readFileSync(file, "utf8"));
  if (state === null) return;
  const isGenesis = ({ header }: Block): boolean => Number(header.number) === 0;
  const first = Math.min(...state.blocks.filter(isGenesis).map(({ header }) => Number(header.timestamp)));
  const kept = state.blocks.filter((block) => !isGenesis(block) || Number(block.header.timestamp) === first);
  if (kept.length === state.blocks.length) return;
  writeFileSync(`${file}.tmp`, JSON.stringify({ ...state, blocks: kept }));
  renameSync(`${file}.tmp`, file);
}

function parse(text: string): { blocks: Block[] } | null {
  try {
    return JSON.parse(text) as { blocks: Block[] };
  } catch {
    // Damaged: anvil will say so, and the copy is taken.
    return null;
  }
}
