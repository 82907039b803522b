import type { ReactNode } from "react";

type Column = { label: string; end?: boolean };

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
            {columns.map(({ label, end }) => (
              <th key={label} scope="col" className={end ? "end" : ""}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
