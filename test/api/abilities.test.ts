/** Forms of an answer, and reasoning beside it, as the stock OpenAI SDK gets them; and what models that do not offer them say. */
import { createHash } from "node:crypto";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { chat } from "../support/api-client.ts";
import { errorBody } from "../support/contract.ts";
import { LARGE_MODEL, MODEL, QUIET_MODEL } from "../support/service-stack.ts";
import { openService, settled } from "./support/service.ts";

const { stack, client } = await openService();
const openai = new OpenAI({ baseURL: `${stack.info.base_url}/v1`, apiKey: client.apiKey });

const messages = (content: string) => [{ role: "user" as const, content }];
const settledJob = (completionId: string) => settled(client.api, completionId.replace("chatcmpl-", ""));
const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
/** Not in the SDK's types, as with every other server that has it. */
const reasoningOf = (part: object | undefined) =>
  (part as { reasoning_content?: string } | undefined)?.reasoning_content;

describe("response_format", () => {
  const lake = {
    type: "object",
    properties: { name: { type: "string" }, depth: { type: "integer" } },
    required: ["name", "depth"],
    additionalProperties: false,
  };

  it("json_schema: the answer follows the schema", async () => {
    const { choices } = await openai.chat.completions.create({
      model: MODEL,
      messages: messages("Describe a lake."),
      response_format: { type: "json_schema", json_schema: { name: "lake", strict: true, schema: lake } },
    });
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({
      name: expect.any(String),
      depth: expect.any(Number),
    });
  });

  it("json_object: the streamed answer is an object", async () => {
    const stream = await openai.chat.completions.create({
      model: LARGE_MODEL,
      messages: messages("Describe a lake as JSON."),
      response_format: { type: "json_object" },
      stream: true,
    });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(JSON.parse(text)).toBeTypeOf("object");
  });

  it("text is what every model has", async () => {
    const reply = await client.api.post(
      "/v1/chat/completions",
      chat(LARGE_MODEL, "Hello", { response_format: { type: "text" } }),
    );
    expect(reply.status).toBe(200);
  });
});

describe("reasoning_effort", () => {
  it("reasoning comes beside the answer; both are billed, only the answer is hashed", async () => {
    const { id, choices, usage } = await openai.chat.completions.create({
      model: MODEL,
      messages: messages("Say hello. [[tokens:30]] [[reasoning:20]]"),
      reasoning_effort: "high",
    });
    const message = choices[0]?.message;
    expect(reasoningOf(message)).toMatch(/\w+/);
    expect(message?.content).not.toContain(reasoningOf(message));
    const billed = { completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 20 } };
    expect(usage).toMatchObject(billed);
    const job = await settledJob(id);
    expect(job.on_chain.proof_hash).toBe(sha256(message?.content ?? ""));
    expect(job.usage).toMatchObject(billed);
    const { body } = await client.api.get(`/v1/jobs/${job.id}/output`);
    expect(body.content).toBe(message?.content);
    expect(JSON.stringify(body)).not.toContain(reasoningOf(message));
  });

  it("reasoning is streamed first, in deltas of its own; the first has the role", async () => {
    const stream = await openai.chat.completions.create({
      model: MODEL,
      messages: messages("Say hello. [[tokens:40]] [[reasoning:40]]"),
      reasoning_effort: "low",
      stream: true,
    });
    const deltas: object[] = [];
    let [id, content] = ["", ""];
    for await (const chunk of stream) {
      id = chunk.id;
      content += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]) deltas.push(chunk.choices[0].delta);
    }
    expect(deltas[0]).toEqual({ role: "assistant", content: "", reasoning_content: expect.any(String) });
    const reasoned = deltas.filter((delta) => reasoningOf(delta) !== undefined);
    expect(deltas.slice(0, reasoned.length)).toEqual(reasoned);
    expect((await settledJob(id)).on_chain.proof_hash).toBe(sha256(content));
  });

  it.each([undefined, "none"] as const)("that is %s shows none", async (effort) => {
    const { choices } = await openai.chat.completions.create({
      model: MODEL,
      messages: messages("Say hello."),
      ...(effort && { reasoning_effort: effort }),
    });
    expect(choices[0]?.message.content).toMatch(/\w+/);
    expect(reasoningOf(choices[0]?.message)).toBeUndefined();
  });
});

describe("a model", () => {
  it("says what it offers", async () => {
    const { data } = (await client.api.get("/v1/models")).body;
    const always = data.map(({ service }: { service: { always_reasoning: boolean } }) => service.always_reasoning);
    expect(new Set(always)).toEqual(new Set([false]));
    const offered = (model: string) =>
      data
        .find(({ id }: { id: string }) => id === model)
        .service.supported_parameters.filter((name: string) => /^(response_format|structured|reasoning)/.test(name));
    expect(offered(MODEL)).toEqual(["response_format", "structured_outputs", "reasoning_effort"]);
    expect(offered(LARGE_MODEL)).toEqual(["response_format"]);
    expect(offered(QUIET_MODEL)).toEqual([]);
  });

  it("shows on its workers' pages how each of them counts prompts", async () => {
    const response = await fetch(`${stack.info.app_url}/api/workers`);
    const { data } = (await response.json()) as { data: { counting: object }[] };
    expect(data.map(({ counting }) => counting)).toContainEqual(
      expect.objectContaining({ [MODEL]: { by: "server", window: null } }),
    );
  });

  const schema = { type: "json_schema", json_schema: { name: "any", schema: {} } };
  it.each([
    [QUIET_MODEL, { response_format: { type: "json_object" } }, "response_format"],
    [LARGE_MODEL, { response_format: schema }, "response_format"],
    [LARGE_MODEL, { response_format: { type: "json_object" }, reasoning_effort: "low" }, "reasoning_effort"],
  ])("that does not offer it refuses it by name, and names those that do: %s, %j", async (model, fields, param) => {
    const { status, body } = await client.api.post("/v1/chat/completions", chat(model, "Hello", fields));
    expect(status).toBe(400);
    expect(body).toEqual(errorBody(stack, "invalid_request", "invalid_request_error", { param }));
    expect(body.error.message).toMatch(new RegExp(`models that do: .*${MODEL}`));
  });
});
