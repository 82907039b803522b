/** The API reference: Redoc shows the service's own OpenAPI document. The API serves the page at /docs/reference. */
import bundle from "redoc/bundles/redoc.standalone.js?url";

declare const Redoc: { init(document: string, options: object, element: HTMLElement | null): void };

/**
 * A colour of api/docs/style.css as it is by day or night now, or by night: Redoc computes with colours, so it cannot have variables. Samples
 * are dark at all times, because the colours of their syntax are Redoc's own.
 */
const probe = document.body.appendChild(document.createElement("span"));
const colour = (token: string, scheme = ""): string => {
  probe.style.colorScheme = scheme;
  probe.style.color = `var(--${token})`;
  return getComputedStyle(probe).color;
};

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

function theme(): object {
  const [ink, soft, line, accent, panel] = ["ink", "soft", "line", "accent", "sunken"].map((token) => colour(token));
  const kinds = { success: "accent", warning: "warn", error: "bad" };
  const shown = (name: string) => ({ color: colour(name), backgroundColor: panel, tabTextColor: colour(name, "dark") });
  return {
    colors: {
      primary: { main: accent },
      ...Object.fromEntries(Object.entries(kinds).map(([kind, name]) => [kind, { main: colour(name) }])),
      gray: { 50: panel, 100: panel },
      text: { primary: ink, secondary: soft },
      border: { dark: line, light: line },
      responses: { success: shown("accent"), error: shown("bad"), redirect: shown("soft"), info: shown("soft") },
    },
    schema: { nestedBackground: panel, linesColor: line, typeNameColor: soft, requireLabelColor: colour("bad") },
    sidebar: { backgroundColor: colour("paper"), textColor: ink, activeTextColor: accent },
    rightPanel: {
      backgroundColor: colour("sunken", "dark"),
      textColor: colour("ink", "dark"),
      servers: { overlay: { backgroundColor: panel, textColor: ink } },
    },
    codeBlock: { backgroundColor: colour("surface", "dark") },
    typography: {
      fontFamily: FONT,
      fontSize: "16px",
      headings: { fontFamily: FONT, fontWeight: "600" },
      code: {
        fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", "Roboto Mono", Menlo, Consolas, monospace',
        color: ink,
        backgroundColor: panel,
      },
      links: { color: accent, visited: accent, hover: accent },
    },
  };
}

const script = document.createElement("script");
script.src = bundle;
script.onload = () => {
  const options = {
    // Its search needs a worker from a blob: address, which the page's policy forbids.
    disableSearch: true,
    hideDownloadButton: true,
    nativeScrollbars: true,
    // Expressions for programs, in a colour that cannot be chosen; the document has them.
    hideSchemaPattern: true,
    theme: theme(),
  };
  Redoc.init("/openapi.json", options, document.getElementById("reference"));
  // Redoc has its colours once and for all.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
};
document.head.append(script);
