import { lexer, type Token, type Tokens } from "marked";
import type { ReactNode } from "react";
import { Code } from "./copy.tsx";

/** Shows a model's text as Markdown. Nothing in it becomes HTML of the page: tags are shown as text, and images as links. */
export default function Markdown({ text }: { text: string }) {
  return <div className="prose">{all(lexer(text, { gfm: true }))}</div>;
}

const all = (tokens: readonly Token[] | undefined): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: a text grows at its end
  tokens?.map((token, place) => <One key={place} token={token as MarkedToken} />);

type MarkedToken = Tokens.Generic & { tokens?: Token[] };

function One({ token }: { token: MarkedToken }) {
  const inner = () => all(token.tokens);
  switch (token.type) {
    case "paragraph":
      return <p>{inner()}</p>;
    // The page has its own headings: those of an answer stand below them.
    case "heading":
      return <p className="heading">{inner()}</p>;
    case "code":
      return <Code text={token["text"]} what={token["lang"] ? `${token["lang"]} code` : "code"} />;
    case "blockquote":
      return <blockquote>{inner()}</blockquote>;
    case "list":
      return <ListOf list={token as unknown as Tokens.List} />;
    case "table":
      return <TableOf table={token as unknown as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "codespan":
      return <code>{token["text"]}</code>;
    case "br":
      return <br />;
    case "link":
    case "image":
      return <LinkTo href={token["href"]}>{token.tokens === undefined ? token["text"] : inner()}</LinkTo>;
    case "space":
      return null;
    // Text of lists has tokens of its own.
    default:
      return <>{token.tokens === undefined ? (token["text"] ?? token.raw) : inner()}</>;
  }
}

/** Leads only to the web, and tells no page where it comes from. */
function LinkTo({ href, children }: { href: string; children: ReactNode }) {
  const isWeb = /^https?:$/.test(URL.parse(href)?.protocol ?? "");
  if (!isWeb) return <>{children}</>;
  return (
    <a href={href} rel="noreferrer nofollow" target="_blank">
      {children}
    </a>
  );
}

function ListOf({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text grows at its end
    <li key={place}>{all(item.tokens)}</li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

const TableOf = ({ table: { header, rows } }: { table: Tokens.Table }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  <div className="scroll" tabIndex={0}>
    <table className="table">
      <thead>
        <tr>
          {header.map((cell) => (
            <th key={cell.text} scope="col">
              {all(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a text grows at its end
          <tr key={row}>
            {cells.map((cell, column) => (
              <td key={header[column]?.text} className="breaks">
                {all(cell.tokens)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
