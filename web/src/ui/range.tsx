import { useSearchParams } from "react-router";
import type { Range } from "../../contract.ts";
import { Segments } from "./controls.tsx";

const RANGES: Record<Range, string> = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };
const isRange = (text: string | null): text is Range => text !== null && Object.hasOwn(RANGES, text);

/** How long a span is, by how many of them there are. */
export const SPANS: Record<number, string> = { 24: "hour", 28: "six hours", 30: "day" };

/** The time that charts show: the address holds it. */
export function useRange(unless: Range = "24h"): [Range, (range: string) => void] {
  const [search, setSearch] = useSearchParams();
  const given = search.get("range");
  const choose = (range: string) => {
    const next = new URLSearchParams(search);
    next.set("range", range);
    setSearch(next, { replace: true });
  };
  return [isRange(given) ? given : unless, choose];
}

export const RangeChoice = ({ value, choose }: { value: Range; choose: (range: string) => void }) => (
  <Segments legend="Time" name="range" options={Object.entries(RANGES)} value={value} choose={choose} />
);
