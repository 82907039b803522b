/** The guide's samples, run as they stand there: openai 7, ai 7 and @langchain/openai 1.6 as they are installed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { generateText } from "ai";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/dev/ports.ts";
import { signatureHeader } from "../../../webhooks/attempt.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A sample of a page of the guide, by its title. */
function sample(page: string, title: string): string {
  const text = readFileSync(join(ROOT, "docs", "guide", `${page}.md`), "utf8");
  const blocks = [...text.matchAll(/^```(\w+ .+)\n([\s\S]*?)^```/gm)];
  const found = blocks.find(([, name]) => name === title)?.[2];
  if (found === undefined) throw new Error(`${page}.md has no sample "${title}"`);
  return found;
}

describe("the key that makes a repetition safe", () => {
  const keys: unknown[] = [];
  let server: Server;
  let baseURL: string;
  beforeAll(async () => {
    const message = { role: "assistant", content: "Hello." };
    const completion = {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "qwen3-8b",
      choices: [{ index: 0, message, finish_reason: "stop" }],
    };
    // The first try fails, as a lost connection does: SDKs ask again.
    server = createServer((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      response.statusCode = keys.length === 1 ? 503 : 200;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(completion));
    }).listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterAll(() => server.close());

  it.each([
    ["JavaScript", () => ({ openai: new OpenAI({ baseURL, apiKey: "k" }) })],
    ["AI SDK", () => ({ generateText, service: createOpenAICompatible({ name: "service", baseURL, apiKey: "k" }) })],
    ["LangChain", () => ({ chat: new ChatOpenAI({ model: "qwen3-8b", apiKey: "k", configuration: { baseURL } }) })],
  ])("is sent by %s with every try, as the guide sets it", async (title, given) => {
    keys.length = 0;
    const names = given();
    const run = new Function(
      ...Object.keys(names),
      `return (async () => { ${sample("idempotency", `js ${title}`)} })()`,
    );
    await run(...Object.values(names));
    expect(keys).toEqual(["order-4711", "order-4711"]);
  });

  it("is not sent by the option of openai that looks like it", async () => {
    keys.length = 0;
    const openai = new OpenAI({ baseURL, apiKey: "k" });
    const body = { model: "qwen3-8b", messages: [{ role: "user" as const, content: "x" }] };
    await openai.chat.completions.create(body, { idempotencyKey: "order-4711" });
    expect(keys).toEqual([undefined, undefined]);
  });
});

describe("a receiver of webhooks as the guide has it", () => {
  const SECRET = "a-long-random-secret";
  // A folder in the project: express is found from there.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "guide-"));
  let receiver: ChildProcess | undefined;
  afterEach(() => receiver?.kill("SIGKILL"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ["js Node (npm install express)", "hook.mjs", process.execPath],
    ["python Python", "hook.py", "python3"],
  ])("%s takes what is signed, and nothing else", async (title, name, program) => {
    const file = join(folder, name);
    writeFileSync(file, sample("webhooks", title));
    const port = await freePort();
    const env = { PATH: process.env.PATH ?? "", HOME: tmpdir(), WEBHOOK_SECRET: SECRET, PORT: String(port) };
    receiver = spawn(program, [file], { env, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    receiver.stdout?.on("data", (data) => {
      said += data;
    });
    const body = JSON.stringify({ id: "evt_1", event: "job.completed", data: { name: "ß ∑" } });
    const deliver = async (signature: string): Promise<number> => {
      const headers = { "content-type": "application/json", "service-signature": signature };
      return (await fetch(`http://127.0.0.1:${port}/hook`, { method: "POST", headers, body })).status;
    };
    const now = Math.floor(Date.now() / 1000);
    const signed = signatureHeader(SECRET, now, body);
    await expect.poll(() => deliver(signed).catch(() => 0), { timeout: 30_000 }).toBe(204);
    expect(await deliver(signatureHeader("another", now, body))).toBe(400);
    expect(await deliver(signatureHeader(SECRET, now - 301, body))).toBe(400);
    expect(await deliver("nonsense")).toBe(400);
    await expect.poll(() => said).toContain("evt_1 job.completed");
  });
});
