import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

const CHECK_MS = 100;
/** An upstream that does not answer two checks in a row gets no requests: a busy host is late with one now and then. */
const CHECK_TIMEOUT_MS = 2_000;
const READY = "ready";
const LATE = "late";

/** A load balancer: asks `/readyz` of each gateway, and sends every request to the next one that is ready. */
export class Balancer {
  /** What each gateway said at its last check, by where it listens: `ready`, `late` for the first time, or why it gets no requests. */
  readonly #checked = new Map<string, string>();
  readonly #server: Server;
  #closed = false;
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

  /** Asks one more gateway from now on; resolves after its first check. */
  async add(url: string): Promise<void> {
    await this.#check(url);
    const keepAsking = async (): Promise<void> => {
      for (; !this.#closed; await sleep(CHECK_MS)) await this.#check(url);
    };
    void keepAsking();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#closed = true;
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Resolves when the gateway gets requests. It was ready a moment before: another one may stop only now. */
  async letsIn(url: string): Promise<void> {
    while (this.#checked.get(url) !== READY) await sleep(CHECK_MS);
  }

  async #check(url: string): Promise<void> {
    const asked = new Date();
    const before = this.#checked.get(url);
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const said = await fetch(`${url}/readyz`, { signal }).then(
      async (reply) => {
        const body = await reply.text();
        return reply.ok ? READY : body;
      },
      (error) => (before === READY && error.name === "TimeoutError" ? LATE : String(error.cause ?? error)),
    );
    const isIn = said === READY || said === LATE;
    this.#checked.set(url, isIn ? said : `${said} (asked at ${asked.toISOString().slice(11, 23)})`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const ready = [...this.#checked].filter(([, said]) => said === READY || said === LATE).map(([url]) => url);
    const first = this.#turn++ % Math.max(1, ready.length);
    for (const url of [...ready.slice(first), ...ready.slice(0, first)]) {
      if (await pass(url, request, Buffer.concat(chunks), response)) return;
    }
    const message = `No gateway is ready: ${[...this.#checked].map((one) => one.join(": ")).join("; ")}`;
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
