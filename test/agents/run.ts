/**
 * `AGENTS=/folder node test/agents/run.ts`: a chat each of coding agents with the service, streamed, tools off; and what each shows with its tools on.
 *
 * Agents are looked for in `node_modules/.bin` of the folder, then in the PATH; one that is not installed is left out:
 * `npm install opencode-ai @mariozechner/pi-coding-agent @qwen-code/qwen-code`. Each gets a home of its own. The settings below are those of
 * opencode 1.18.33, pi 0.73.1 and qwen-code 0.15.10.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { execa } from "execa";
import { DEMO_SENTENCE } from "../../worker/backends/builtin.ts";
import { plainEnv } from "../support/shared.ts";
import { startTestStack } from "../support/stack.ts";

const MODEL = "qwen3-8b";
const PROMPT = "Say hello.";
const REFUSAL = "this service has no tool calling, so switch tools off in your client";
const LIMIT_MS = 120_000;

type Service = { url: string; key: string };
/** How an agent is set up in its home, and asked; `tools`: as it comes, with them. */
type Agent = {
  command: string;
  setUp: (home: string, service: Service, tools: boolean) => void;
  args: (tools: boolean) => string[];
  env: (home: string, service: Service) => Record<string, string>;
};

const write = (file: string, value: unknown): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value));
};

/** What qwen-code offers a model besides the tools that `core` limits. */
const QWEN_TOOLS = [
  "tool_search",
  "agent",
  "task_stop",
  "send_message",
  "skill",
  "ask_user_question",
  "exit_plan_mode",
];

const AGENTS: Record<string, Agent> = {
  opencode: {
    command: "opencode",
    setUp: (home, { url, key }, tools) => {
      const limit = { context: 32_768, output: 2_000 };
      const options = { baseURL: url, apiKey: key };
      const models = { [MODEL]: { name: MODEL, limit, ...(!tools && { tool_call: false }) } };
      const service = { npm: "@ai-sdk/openai-compatible", name: "Service", options, models };
      const own = { model: `service/${MODEL}`, small_model: `service/${MODEL}`, autoupdate: false, share: "disabled" };
      write(join(home, "opencode.json"), { provider: { service }, ...own, ...(!tools && { tools: { "*": false } }) });
    },
    args: () => ["run", PROMPT],
    env: (home) => ({ OPENCODE_CONFIG: join(home, "opencode.json") }),
  },
  pi: {
    command: "pi",
    setUp: (home, { url, key }) => {
      const model = {
        id: MODEL,
        name: MODEL,
        reasoning: false,
        input: ["text"],
        contextWindow: 32_768,
        maxTokens: 2_000,
      };
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const compat = { supportsDeveloperRole: false, supportsReasoningEffort: false, supportsStore: false };
      const service = { baseUrl: url, api: "openai-completions", apiKey: key, compat, models: [{ ...model, cost }] };
      write(join(home, "agent", "models.json"), { providers: { service } });
    },
    args: (tools) => [
      ...["--provider", "service", "--model", MODEL, "--no-session", ...(tools ? [] : ["--no-tools"])],
      ...["-p", PROMPT],
    ],
    env: (home) => ({ PI_CODING_AGENT_DIR: join(home, "agent"), PI_OFFLINE: "1" }),
  },
  "qwen-code": {
    command: "qwen",
    setUp: (home, _service, tools) => {
      write(join(home, ".qwen", "settings.json"), {
        ...(!tools && { tools: { core: ["none"], exclude: QWEN_TOOLS } }),
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: "openai" } },
        general: { disableAutoUpdate: true },
      });
    },
    args: () => ["-p", PROMPT],
    env: (_home, { url, key }) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: key, OPENAI_MODEL: MODEL }),
  },
};

const FOLDERS = [
  ...(process.env["AGENTS"] ? [join(process.env["AGENTS"], "node_modules", ".bin")] : []),
  ...(process.env["PATH"] ?? "").split(delimiter),
];
const find = (command: string): string | undefined =>
  FOLDERS.map((folder) => join(folder, command)).find((file) => existsSync(file));

/** Passes everything on to the service, and notes of each chat whether it is a stream and how it was answered. */
async function startRecorder(service: string) {
  const chats: { stream: boolean; status: number; type: string | null }[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    const init = { method: request.method ?? "GET", headers: headers as Record<string, string> };
    const reply = await fetch(service + request.url, body.length > 0 ? { ...init, body } : init);
    const type = reply.headers.get("content-type");
    if (request.url?.endsWith("/chat/completions")) {
      chats.push({ stream: JSON.parse(body.toString()).stream === true, status: reply.status, type });
    }
    response.writeHead(reply.status, { "content-type": type ?? "text/plain" });
    if (reply.body === null) response.end();
    else await pipeline(Readable.fromWeb(reply.body as never), response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, chats, server };
}

async function ask(agent: Agent, file: string, service: Service, tools: boolean): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "agent-"));
  try {
    agent.setUp(home, service, tools);
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
    const env = { ...plainEnv(), PATH, HOME: home, ...agent.env(home, service) };
    const options = {
      cwd: home,
      env,
      extendEnv: false,
      reject: false,
      all: true,
      stdin: "ignore",
      timeout: LIMIT_MS,
    } as const;
    const { all } = await execa(file, agent.args(tools), options);
    return all ?? "";
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

const found = Object.entries(AGENTS).map(([name, agent]) => ({ name, agent, file: find(agent.command) }));
for (const { name, agent, file } of found)
  if (!file) console.log(`${name}: not run, there is no command ${agent.command}`);
if (found.some(({ file }) => file)) {
  const stack = await startTestStack({ workers: [{ models: [MODEL] }] });
  const recorder = await startRecorder(stack.info.base_url);
  const service = { url: recorder.url, key: stack.info.demo?.api_key as string };
  for (const { name, agent, file } of found) {
    if (!file) continue;
    recorder.chats.length = 0;
    const answer = await ask(agent, file, service, false);
    const streamed = recorder.chats.filter(
      ({ stream, status, type }) => stream && status === 200 && /event-stream/.test(type ?? ""),
    );
    const answered = answer.includes(DEMO_SENTENCE.slice(0, 40)) && streamed.length > 0;
    console.log(`${name}: ${answered ? "answered, streamed" : `FAILED\n${answer}\n${JSON.stringify(recorder.chats)}`}`);
    const refused = (await ask(agent, file, service, true)).includes(REFUSAL);
    console.log(
      `${name} with tools: ${refused ? "shows the refusal's sentence" : "FAILED: does not show why it was refused"}`,
    );
    if (!answered || !refused) process.exitCode = 1;
  }
  recorder.server.closeAllConnections();
  recorder.server.close();
  await stack.remove();
}
process.exit();
