import { useState } from "react";
import { Link } from "react-router";
import { short } from "./format.ts";

const SHOWN_MS = 1_800;

/** Copies a text; says so to eyes and screen readers. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  const copy = async () => {
    const worked = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    setCopied(worked ? "yes" : "failed");
    setTimeout(() => setCopied("no"), SHOWN_MS);
  };
  return (
    <button type="button" className="copy" onClick={copy} aria-label={`Copy ${what}`} title={`Copy ${what}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {copied === "yes" ? <path d="M3 8.5l3.2 3.2L13 5" /> : <path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />}
      </svg>
      <span role="status" className="visually-hidden">
        {copied === "yes"
          ? `${what} copied`
          : copied === "failed"
            ? "Copying was not allowed; select the text instead"
            : ""}
      </span>
    </button>
  );
}

/** A secret, which is shown once. */
export const Secret = ({ text, what, ...rest }: { text: string; what: string; "data-testid"?: string }) => (
  <p className="secret">
    <code {...rest}>{text}</code>
    <CopyButton text={text} what={what} />
  </p>
);

/** Lines for a terminal or a program. */
export const Code = ({ text, what }: { text: string; what: string }) => (
  <div className="code">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
    <pre tabIndex={0}>{text}</pre>
    <CopyButton text={text} what={what} />
  </div>
);

/** A long hash or address, shortened, copyable, and where it leads if it leads somewhere. */
export function Hash({
  value,
  what,
  to,
  href,
  full = false,
}: {
  value: string;
  what: string;
  to?: string;
  href?: string | undefined;
  full?: boolean;
}) {
  const head = value.startsWith("job_") ? 10 : value.startsWith("sha256:") ? 13 : 6;
  const text = <code title={value}>{full ? value : short(value, head, value.startsWith("0x") ? 4 : 6)}</code>;
  return (
    <span className={full ? "hash full" : "hash"}>
      {href ? (
        <a href={href} rel="noreferrer">
          {text}
        </a>
      ) : to ? (
        <Link to={to}>{text}</Link>
      ) : (
        text
      )}
      <CopyButton text={value} what={what} />
    </span>
  );
}
