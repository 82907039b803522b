/** The reference's samples, run as they stand there by curl and by Node; those in Python are compared with them. */
import { execFile } from "node:child_process";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { htmlOf } from "../../../../api/docs/pages.ts";
import { referencePage } from "../../../../api/docs/reference.ts";
import { openApiDocument } from "../../../../api/routes/openapi/document.ts";
import { serve } from "../../support/serve.ts";

const ENV = { ...process.env, SERVICE_API_KEY: "k" };
const ENTITIES: Record<string, string> = { "&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&" };
const PYTHON = /^reply = requests\.(\w+)\(\n {4}"(.*)",\n {4}headers=.*,\n(?: {4}json=([\s\S]*),\n)?\)$/m;

it("a sample sends the same in each language", async () => {
  let sent: object[] = [];
  const baseUrl = await serve(async (request, response) => {
    const { method, url, headers } = request;
    const body = await text(request);
    sent.push({ method, url, key: headers.authorization, body: body === "" ? null : JSON.parse(body) });
    response.end("{}");
  });
  const page = htmlOf(referencePage(openApiDocument(baseUrl)));
  const samplesIn = (language: string) =>
    [...page.matchAll(new RegExp(`<figure data-language="${language}">.*?<code>(.*?)</code>`, "gs"))].map(
      ([, code = ""]) => code.replaceAll(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity),
    );
  const sentBy = async (language: string, program: string, options: readonly string[]) => {
    sent = [];
    for (const sample of samplesIn(language)) await promisify(execFile)(program, [...options, sample], { env: ENV });
    return sent;
  };

  const byCurl = await sentBy("curl", "sh", ["-c"]);
  expect(byCurl.length).toBeGreaterThan(10);
  expect(byCurl).toEqual(byCurl.map((one) => ({ ...one, key: "Bearer k" })));
  expect(await sentBy("JavaScript", process.execPath, ["--input-type=module", "--eval"])).toEqual(byCurl);
  const python = samplesIn("Python").map((sample) => {
    const [, method = "", url = "", json = "null"] = PYTHON.exec(sample) ?? [];
    // Python writes these values in another way than JSON does.
    if (json !== "null") expect(json).not.toMatch(/\b(?:true|false|null)\b/);
    return {
      method: method.toUpperCase(),
      url: url.slice(baseUrl.length),
      key: "Bearer k",
      body: JSON.parse(json),
    };
  });
  expect(python).toEqual(byCurl);
}, 60_000);
