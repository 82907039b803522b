import type { ReactNode } from "react";

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
