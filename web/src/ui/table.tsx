import type { ReactNode } from "react";

type Column = { label: string; end?: boolean; more?: boolean };

/** A table with its name for screen readers; columns that say `more` are left out on a phone. */
export function Table({
  caption,
  columns,
  children,
}: {
  caption: string;
  columns: readonly Column[];
  children: ReactNode;
}) {
  return (
    <div className="scroll">
      <table className="table">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ label, end, more }) => (
              <th key={label} scope="col" className={`${end ? "end" : ""} ${more ? "more" : ""}`}>
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
