/** The file that a page gives its visitor. */
import { afterEach, expect, it, vi } from "vitest";

// Types of the browser are not those of the tests.
const DOWNLOAD: string = "../../../../web/src/ui/download.ts";
const { downloadCsv } = await import(DOWNLOAD);

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("has each value in its column, although a model's id has a comma", async () => {
  const files: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((file) => `blob:${files.push(file as Blob)}`);
  vi.stubGlobal("document", { createElement: () => ({ click: () => undefined }) });
  downloadCsv("usage.csv", [
    ["model", "credits"],
    ['llama,"large"', 12],
  ]);
  expect(await files[0]?.text()).toBe('model,credits\r\n"llama,""large""",12\r\n');
});
