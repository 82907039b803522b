import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** What a peer does with one request; the body is the parsed chat request. */
export type Script = (res: ServerResponse, body: Record<string, unknown>) => Promise<void> | void;

/** A model server that speaks the OpenAI protocol and behaves as the test says. */
export type Peer = {
  url: string;
  play: (script: Script) => void;
  /** `trace`: the header `traceparent`. */
  requests: { body: Record<string, unknown>; key: string | undefined; trace: unknown }[];
  stop: () => Promise<void>;
};

export async function startPeer(models: string[]): Promise<Peer> {
  let script: Script = (res) => void res.writeHead(500).end();
  const requests: Peer["requests"] = [];
  const server: Server = createServer(async (req, res) => {
    if (req.url === "/v1/models")
      return void res.end(JSON.stringify({ object: "list", data: models.map((id) => ({ id })) }));
    // Nothing else is asked of a server of the OpenAI protocol.
    if (req.url !== "/v1/chat/completions") return void res.writeHead(404).end();
    const body = await readJson(req);
    requests.push({ body, key: req.headers.authorization, trace: req.headers["traceparent"] });
    await script(res, body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    play: (next) => {
      script = next;
    },
    requests,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** One chunk in the form servers send. */
export function chunk(delta: Record<string, unknown>, finish: string | null = null): string {
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}

/** The last chunk of a stream with `include_usage`, and the end. */
export function usageAndDone(prompt_tokens: number, completion_tokens: number): string {
  return `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens, completion_tokens } })}\n\ndata: [DONE]\n\n`;
}

/** Sends pieces as one event stream, each in a packet of its own, then ends it. */
export function stream(...pieces: (string | Buffer)[]): Script {
  return async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) {
      res.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    res.end();
  };
}

/** Sends a piece, and cuts the connection when it is told to. */
export function dropLater(piece: string): { script: Script; drop: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const script: Script = async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" }).write(piece);
    await promise;
    res.destroy();
  };
  return { script, drop: resolve };
}

async function readJson(req: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString("utf8")) as Record<string, unknown>;
}
