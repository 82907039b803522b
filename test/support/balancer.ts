import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

const CHECK_MS = 100;
/** An upstream that does not answer its check by then gets no requests. */
const CHECK_TIMEOUT_MS = 2_000;

/** A load balancer: asks `/readyz` of each gateway, and sends every request to the next one that is ready. */
export class Balancer {
  /** Where each gateway listens, and whether it was ready at the last check. */
  readonly #ready = new Map<string, boolean>();
  readonly #server: Server;
  readonly #timers: NodeJS.Timeout[] = [];
  #turn = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async open(gateways: readonly string[]): Promise<Balancer> {
    const balancer = new Balancer();
    await Promise.all(gateways.map((url) => balancer.add(url)));
    await new Promise<void>((resolve) => balancer.#server.listen(0, "127.0.0.1", resolve));
    return balancer;
  }

  /** Lets a gateway in; resolves after its first check. */
  async add(url: string): Promise<void> {
    this.#timers.push(setInterval(() => void this.#check(url), CHECK_MS));
    await this.#check(url);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #check(url: string): Promise<void> {
    const reply = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }).catch(() => null);
    await reply?.body?.cancel();
    this.#ready.set(url, reply?.ok ?? false);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const ready = [...this.#ready].filter(([, isReady]) => isReady).map(([url]) => url);
    const first = this.#turn++ % Math.max(1, ready.length);
    for (const url of [...ready.slice(first), ...ready.slice(0, first)]) {
      if (await pass(url, request, Buffer.concat(chunks), response)) return;
    }
    const message = "No gateway is ready. Retry in 2 seconds.";
    const error = { code: "service_unavailable", type: "capacity_error", message };
    response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ error }));
  }
}

/** False if the gateway was not reached. A request that was sent is never sent to another gateway: it would be paid twice. */
async function pass(url: string, asked: IncomingMessage, body: Buffer, response: ServerResponse): Promise<boolean> {
  return await new Promise((resolve) => {
    const { method, headers } = asked;
    const { hostname, port } = new URL(url);
    const options = { hostname, port, path: asked.url, method, headers, agent: false };
    const request = send(options, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      pipeline(reply, response, () => resolve(true));
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") return resolve(false);
      response.destroy();
      resolve(true);
    });
    response.on("close", () => request.destroy());
    request.end(body);
  });
}
