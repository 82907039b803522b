/**
 * Requests that model servers do not survive: a server that fails where a prompt says so, in ten ways, and that answers every other prompt. Seven ways
 * are public reports, read on 2026-11-28:
 *
 *   template-500         ggml-org/llama.cpp#19851    the error of a chat template is llama-server's 500
 *   engine-dead          vllm-project/vllm#42362     "500 Internal Server Error" once the engine is dead
 *   cut-before-headers   ollama/ollama#1838          the runner aborts, and its client reads EOF
 *   cut-after-headers    vllm-project/vllm#9260      an exception after "200 OK" breaks the stream off
 *   error-event          BerriAI/litellm#40578       an error in a stream that began with 200
 *   no-end               vllm-project/vllm#52852     neither a reason of the end nor `[DONE]`
 *   html-page            HKUDS/nanobot#536           a proxy's page with 502
 *
 * Of the last three no report is known: they are answers outside the protocol, as a broken proxy could send them.
 */
import { chunk, type Peer, type Script, startPeer, stream, usageAndDone } from "./peer.ts";

/** What the server does with a prompt that holds `#name`. */
const POISON: Record<string, Script> = {
  "template-500": (res) => void res.writeHead(500).end(JSON.stringify({ error: { message: "roles must alternate" } })),
  "engine-dead": (res) => void res.writeHead(500).end("Internal Server Error"),
  "cut-before-headers": (res) => void res.destroy(),
  "cut-after-headers": (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    setTimeout(() => res.destroy(), 20);
  },
  "error-event": stream(`data: ${JSON.stringify({ error: { message: "CUDA error", code: 500 } })}\n\n`),
  "no-end": stream(chunk({ role: "assistant", content: "" })),
  "html-page": (res) => void res.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>"),
  "not-json": stream("data: Internal error\n\n"),
  "endless-event": (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`data: ${"x".repeat(3_000_000)}`);
  },
  "wrong-type": (res) => void res.writeHead(200, { "content-type": "text/plain" }).end("Segmentation fault"),
};
/** The ways in which it fails before it says anything. */
export const BEFORE_TEXT = Object.keys(POISON);

/** A crash in the middle of an answer, which is `cut-after-headers` a moment later. */
POISON["cut-after-text"] = (res) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (let n = 0; n < 3; n++) res.write(chunk({ content: "Hello. " }));
  setTimeout(() => res.destroy(), 100);
};

/** A prompt at which the server fails in this way. */
export const poisonOf = (kind: string): string => `Hello #${kind}`;

export async function startPoisonedServer(models: string[]): Promise<Peer> {
  const peer = await startPeer(models);
  peer.play((res, body) => {
    const text = JSON.stringify(body);
    const kind = Object.keys(POISON).find((name) => text.includes(`#${name}`));
    const script =
      kind === undefined ? stream(chunk({ content: "Hello." }), chunk({}, "stop"), usageAndDone(3, 2)) : POISON[kind];
    return (script as Script)(res, body);
  });
  return peer;
}
