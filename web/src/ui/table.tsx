import type { ReactNode } from "react";
import { queryString } from "../data/queries.ts";
import { LinkButton } from "./links.tsx";

/** A column by its label; `end`: its numbers stand at the right. */
type Column = string | { end: string };

/**
 * A table with its name for screen readers, each row one line. Where it is wider than its place, it scrolls beneath its first column: the
 * columns that matter most come first. `plain`: it has no links, so the keyboard must reach the table itself.
 */
export function Table({
  caption,
  columns,
  plain = false,
  children,
}: {
  caption: string;
  columns: readonly Column[];
  plain?: boolean;
  children: ReactNode;
}) {
  return (
    <div className="scroll" {...(plain ? { tabIndex: 0, role: "region", "aria-label": caption } : {})}>
      <table className="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => {
              const [label, side] = typeof column === "string" ? [column, ""] : [column.end, "end"];
              return (
                <th key={label} scope="col" className={side}>
                  {label}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

type PagerProps = { before: string; older: string | number | null; beside?: Record<string, string> };

/**
 * Leads through a list: to the page after `older`, null on the last one, and back to the newest unless that is shown (`before` is empty). `beside`:
 * what else the address says.
 */
export const Pager = ({ before, older, beside = {} }: PagerProps) => (
  <nav className="pager" aria-label="Pages of the list">
    {before === "" ? null : <LinkButton to={queryString(beside) || "?"}>Newest</LinkButton>}
    {older === null ? null : <LinkButton to={queryString({ ...beside, before: older })}>Older</LinkButton>}
  </nav>
);
