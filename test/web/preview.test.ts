/** What a chat application finds behind a link: the page's tags, and the picture that they name. */
import { expect } from "vitest";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { it } from "./support/browser.ts";
import { MODEL } from "./support/web-stack.ts";

/** The tags of a page, by their property. */
async function tagsOf(url: string): Promise<Record<string, string>> {
  const html = await (await fetch(url, { headers: { accept: "text/html" } })).text();
  return Object.fromEntries(
    [...html.matchAll(/<meta property="([^"]+)" content="([^"]*)">/g)].map(([, a, b]) => [a, b]),
  );
}

it("the front door and a job's page show themselves with a picture", async ({ stack }) => {
  const database = openStore(stack);
  const client = await Client.funded(stack, database, 100);
  await database.end();
  const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
  const job = headers.get("x-service-job-id") as string;
  await untilIndexed(stack);
  const pictures: string[] = [];
  for (const url of [`${stack.info.base_url}/`, `${stack.info.app_url}/jobs/${job}`]) {
    const { "og:image": picture = "", "og:title": title = "", "og:url": canonical } = await tagsOf(url);
    expect(canonical).toBe(url);
    expect(title).toMatch(/charge/);
    const answer = await fetch(picture);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/png"]);
    pictures.push(picture);
  }
  expect(pictures[1]).toContain(job);
});
