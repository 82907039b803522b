/** Pages of the documentation are plain HTML, rendered here: no script, nothing from another host. */

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #fff; --line: #d8dee4; --mark: #0b5fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --line: #30363d; --mark: #6ea8fe; } }
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
code { font: 0.9em ui-monospace, monospace; } a { color: var(--mark); } dt { color: var(--soft); } dd { margin: 0 0 0.6rem; }
:target { scroll-margin-top: 1rem; outline: 2px solid var(--mark); outline-offset: 0.4rem; border-radius: 2px; }
nav { color: var(--soft); }
`;

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text → HTML, with `code` marked. */
export function html(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ESCAPES[char] as string).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** A whole page. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title><style>${STYLE}</style></head>
<body><main>${body}</main></body>
</html>
`;
}
