import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type GuardedNode = {
  /** With user, password and key, as an operator would have it in RPC_URL. */
  url: string;
  /** What must be in no log. */
  secrets: string[];
  /** Turned away from now on, with an answer that quotes the request, as some gateways of providers do: every request, or those of a method. */
  refuse: (method?: string) => void;
  /** Requests that had the password and the key. */
  readonly served: number;
  stop: () => Promise<void>;
};

const [USER, PASSWORD, KEY] = ["operator", "pass/wörd%of the node", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"];

/** A node as providers sell it: behind a user, a password and a key in its path. `answer` is asked with the body of each request. */
export async function startGuardedNode(answer: (body: string) => Promise<string>): Promise<GuardedNode> {
  const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString("base64")}`;
  let served = 0;
  let refusing = (_body: string): boolean => false;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString("utf8");
    if (refusing(body) || request.headers.authorization !== authorization || request.url !== `/v3/${KEY}`) {
      response.writeHead(401, { "content-type": "text/plain" });
      return void response.end(`not yours: ${request.url} with ${request.headers.authorization}`);
    }
    try {
      const reply = await answer(body);
      served++;
      response.writeHead(200, { "content-type": "application/json" }).end(reply);
    } catch {
      // The node behind it is away: to its client it is a bad gateway.
      response.writeHead(502).end();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const login = `${USER}:${encodeURIComponent(PASSWORD)}`;
  return {
    url: `http://${login}@127.0.0.1:${port}/v3/${KEY}`,
    secrets: [KEY, PASSWORD, encodeURIComponent(PASSWORD), authorization.slice("Basic ".length)],
    refuse: (method = "") => {
      refusing = (body) => body.includes(method);
    },
    get served() {
      return served;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Passes requests on to a real node. */
export const passTo =
  (url: string) =>
  async (body: string): Promise<string> => {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    return await response.text();
  };
