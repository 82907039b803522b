/** The API reference: Redoc shows the service's own OpenAPI document. The API serves the page at /docs/reference. */
import bundle from "redoc/bundles/redoc.standalone.js?url";

declare const Redoc: { init(document: string, options: object, element: HTMLElement | null): void };

const FONT = 'system-ui, -apple-system, "Segoe UI", sans-serif';
const OPTIONS = {
  // Its search needs a worker from a blob: address, which the page's policy forbids.
  disableSearch: true,
  hideDownloadButton: true,
  nativeScrollbars: true,
  scrollYOffset: "header",
  theme: {
    colors: { primary: { main: "#1f5fd6" } },
    typography: {
      fontFamily: FONT,
      fontSize: "16px",
      headings: { fontFamily: FONT, fontWeight: "600" },
      code: { fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" },
    },
  },
};

const script = document.createElement("script");
script.src = bundle;
script.onload = () => Redoc.init("/openapi.json", OPTIONS, document.getElementById("reference"));
document.head.append(script);
