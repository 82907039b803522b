import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ErrorMessage } from "../data/error-message.ts";

/** Says in the browser's tab where one is. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} – Credit-metered inference`;
  }, [title]);
}

/**
 * One page: its heading gets the focus when one comes to it, so that screen readers say where one is. `tab`: what the browser's tab says
 * instead of the heading, where that would be the same for many pages.
 */
export function Page({
  title,
  tab = title,
  about,
  actions,
  children,
}: {
  title: string;
  tab?: string | undefined;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(tab);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <main id="content">
      <header className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about ? <p className="about">{about}</p> : null}
        </div>
        {actions ? <div className="actions">{actions}</div> : null}
      </header>
      {children}
    </main>
  );
}

/** A titled block of a page. */
export function Card({
  title,
  aside,
  children,
  className = "",
}: {
  title?: string;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`card ${className}`}>
      {title === undefined ? null : (
        <header>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

/** A part of a page that is made when somebody opens it. */
export function Folded({
  summary,
  open = false,
  className = "",
  children,
}: {
  summary: ReactNode;
  open?: boolean;
  className?: string;
  children: () => ReactNode;
}) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details className={className} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen ? children() : null}
    </details>
  );
}

/** Nothing here yet, and what would change that. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A message about what happened; errors interrupt screen readers, the rest waits. */
export function Notice({
  tone,
  title,
  children,
  actions,
}: {
  tone: "error" | "warn" | "info" | "good";
  title?: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className={`notice ${tone}`} role={tone === "error" ? "alert" : "status"}>
      <div>
        {title ? <p className="notice-title">{title}</p> : null}
        {children}
      </div>
      {actions ? <div className="actions">{actions}</div> : null}
    </div>
  );
}

export function Failure({ message, actions }: { message: ErrorMessage; actions?: ReactNode }) {
  return (
    <Notice tone={message.quiet ? "info" : "error"} title={message.title} actions={actions}>
      <p>{message.text}</p>
    </Notice>
  );
}

/** A value with its name, for the heads of pages and details. */
export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A number that matters, and in small what it means; `main`: the one that matters most. */
export function Figure({ label, value, main = false, children }: FigureProps) {
  return (
    <div className={main ? "figure main" : "figure"}>
      <dt>{label}</dt>
      <dd>
        <span className="number">{value}</span>
        <span className="hint">{children}</span>
      </dd>
    </div>
  );
}

type FigureProps = { label: string; value: string; main?: boolean; children: ReactNode };
