/** The client package on a service and a chain that are played here: what its program gets, and what is sent. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChainView } from "../../client/chain.ts";
import { type Finding, type VerifiedOptions, verified } from "../../client/index.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";

const ESCROW = "0x00000000000000000000000000000000000e5c40";
const URL = "https://service.example/v1/chat/completions";

let findings: Finding[];
beforeEach(() => {
  findings = [];
  vi.spyOn(ChainView.prototype, "startBlock").mockResolvedValue(1n);
  // Nothing of the jobs is looked up: these tests end with the reply.
  vi.spyOn(ChainView.prototype, "deployment").mockReturnValue(new Promise(() => {}));
});
afterEach(() => vi.restoreAllMocks());

const open = (fetch: typeof globalThis.fetch, more: Partial<VerifiedOptions> = {}) =>
  verified({
    rpcUrl: "http://127.0.0.1:9",
    escrow: ESCROW,
    fetch,
    onFinding: (finding) => findings.push(finding),
    ...more,
  });
const request = (more: object = {}): RequestInit => ({
  method: "POST",
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }], ...more }),
});

const jobId = toApiJobId(newJobId());
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  event({ id: `chatcmpl-${jobId}`, model: "m", choices: [{ index: 0, delta, finish_reason }] });
const END = `${chunk({}, "stop")}data: [DONE]\n\n`;

/** A stream that breaks after its last event, unless that is its end. */
const stream = (...events: string[]): Response => {
  const left = [...events];
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(new TextEncoder().encode(next));
      else if (events.at(-1) === END) controller.close();
      else controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "x-service-job-id": jobId } });
};

/** What the program gets of a stream. */
async function read(response: Response): Promise<{ content: string; reasoning: string }> {
  const got = { content: "", reasoning: "" };
  for (const line of (await response.text()).split("\n\n")) {
    const { choices = [] } = line.startsWith("data: {") ? JSON.parse(line.slice(6)) : {};
    for (const { delta } of choices) {
      got.content += delta.content ?? "";
      got.reasoning += delta.reasoning_content ?? "";
    }
  }
  return got;
}

describe("a stream that breaks more than once", () => {
  const piece = (content: string) => chunk({ content });
  const thought = (reasoning_content: string) => chunk({ reasoning_content });

  it("gives the program each character once, wherever its connections broke", async () => {
    const connections = [
      stream(thought("Hm, "), thought("well. "), piece("One "), piece("two ")),
      stream(thought("Hm, "), piece("On")),
      stream(thought("Hm, well. "), piece("One two "), piece("three."), END),
    ];
    const fetch = open(async () => connections.shift() as Response);
    expect(await read(await fetch(URL, request({ stream: true })))).toEqual({
      content: "One two three.",
      reasoning: "Hm, well. ",
    });
  });

  it("is not passed on as whole if it ends before what the program has", async () => {
    const connections = [stream(piece("One "), piece("two ")), stream(piece("One "), END)];
    const fetch = open(async () => connections.shift() as Response);
    await expect(read(await fetch(URL, request({ stream: true })))).rejects.toThrow(/another answer/);
    expect(findings).toMatchObject([{ id: "reply.form" }]);
  });
});
