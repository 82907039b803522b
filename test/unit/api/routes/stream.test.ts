/** How an answer goes out as Server-Sent Events, at the client's pace. Only the timer is played. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import express from "express";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Answer } from "../../../../api/jobs/answer.ts";
import { ChunkWriter, streamAnswer } from "../../../../api/routes/completion.ts";
import { eventually } from "../../../support/api-client.ts";
import { serve } from "../../support/serve.ts";

const SILENCE_MS = 10_000;
let url: string;
let answer: Answer;
/** Resolves once the answer is sent, to its end or to the client's. */
let sent: Promise<void>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  answer = new Answer();
  const app = express();
  app.get("/", (_request, response) => {
    sent = streamAnswer(response, answer, {
      piece: ({ kind, text }) => (kind === "content" ? `data: ${text}\n\n` : ""),
      end: async () => "data: [DONE]\n\n",
      error: () => "data: error\n\n",
      trailers: async () => ({ "x-service-settlement-tx": "0xabc" }),
    });
  });
  url = await serve(app);
});
afterEach(() => void vi.useRealTimers());

/** The stream as a client reads it. */
async function open(): Promise<{ reply: IncomingMessage; text: () => string }> {
  const [reply] = (await once(get(url), "response")) as [IncomingMessage];
  let text = "";
  reply.setEncoding("utf8").on("data", (piece) => {
    text += piece;
  });
  return { reply, text: () => text };
}

it("has a comment after each ten seconds of silence, and none while text comes", async () => {
  const { reply, text } = await open();
  const reads = (expected: string) =>
    eventually(
      async () => text(),
      (so) => so === expected,
    );
  vi.advanceTimersByTime(SILENCE_MS - 1);
  answer.append("one");
  await reads("data: one\n\n");
  // The text began the silence anew.
  vi.advanceTimersByTime(SILENCE_MS - 1);
  answer.append("two");
  await reads("data: one\n\ndata: two\n\n");
  vi.advanceTimersByTime(SILENCE_MS - 1);
  // What is not shown is silence.
  answer.reason("hm");
  vi.advanceTimersByTime(1);
  await reads("data: one\n\ndata: two\n\n: keep-alive\n\n");
  vi.advanceTimersByTime(SILENCE_MS);
  await reads("data: one\n\ndata: two\n\n: keep-alive\n\n: keep-alive\n\n");
  answer.end();
  await sent;
  await reads("data: one\n\ndata: two\n\n: keep-alive\n\n: keep-alive\n\ndata: [DONE]\n\n");
  const { trailers } = await eventually(
    async () => reply,
    ({ complete }) => complete,
  );
  expect(trailers).toEqual({ "x-service-settlement-tx": "0xabc" });
  expect(vi.getTimerCount()).toBe(0);
});

it("ends for a client that went away, and leaves no timer behind", async () => {
  const { reply, text } = await open();
  answer.append("one");
  await eventually(
    async () => text(),
    (so) => so === "data: one\n\n",
  );
  reply.socket.destroy();
  // What comes after that finds the connection closed; sooner or later, as the network tells of it.
  let over = false;
  void sent.then(() => {
    over = true;
  });
  await eventually(async () => {
    answer.append("more");
    return over;
  }, Boolean);
  expect(vi.getTimerCount()).toBe(0);
});

/** Where Python's `str.splitlines` ends a line, and with it the `iter_lines` of httpx and of requests (CPython 3.13, httpx 0.28). */
const LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029";

it("has each event in one line of every reader, whatever the text is", () => {
  const text = "one\u2028two\u2029three\u0085four\u000bfive\u000csix\u001eseven\r\neight";
  const writer = new ChunkWriter({ jobId: "job_1", model: "m", created: 1 });
  for (const kind of ["content", "reasoning"] as const) {
    const event = writer.piece({ kind, text });
    expect([...event].filter((character) => LINE_ENDS.includes(character))).toEqual(["\n", "\n"]);
    const { delta } = JSON.parse(event.slice("data: ".length)).choices[0];
    expect(delta.content || delta.reasoning_content).toBe(text);
  }
});

it("keeps an answer of single characters in few pieces", async () => {
  const text = "ab".repeat(50_000);
  const read = async () => {
    let all = "";
    for await (const piece of answer.read()) all += piece.text;
    return all;
  };
  const early = read();
  for (const character of text.slice(0, 10)) answer.append(character);
  await Promise.resolve();
  for (const character of text.slice(10)) answer.append(character);
  answer.reason("hm");
  answer.end();
  expect(await Promise.all([early, read()])).toEqual([`${text}hm`, `${text}hm`]);
  expect(answer.text).toBe(text);
  expect(answer.pieces).toBeLessThan(50);
});
