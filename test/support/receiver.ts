import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { EventName } from "../../webhooks/events.ts";

/** A request as it came, with the exact bytes. */
export type Received = {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  at: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent is what the tests look at
  event: { id: string; event: EventName; created_at: string; api_version: string; data: any };
};

/** What the receiver does with a request; `nth` counts the requests to this path from 1. */
export type Behaviour = (response: ServerResponse, nth: number, received: Received) => void;

export const answer =
  (status: number, body: string | Buffer = ""): Behaviour =>
  (response) =>
    void response.writeHead(status).end(body);

/** An endpoint of a client: a real HTTP server that keeps all it gets. */
export class Receiver {
  readonly received: Received[] = [];
  readonly sockets = new Set<Socket>();
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks);
        const path = request.url ?? "";
        const received = { path, headers: request.headers, body, at: Date.now(), event: JSON.parse(body.toString()) };
        this.received.push(received);
        const behaviour = this.#behaviours.get(path) ?? answer(200, "ok");
        behaviour(response, this.to(path).length, received);
      });
    });
    this.#server.on("connection", (socket) => this.sockets.add(socket));
  }

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((done) => receiver.#server.listen(0, "127.0.0.1", done));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** URL of a path; each path is an endpoint of its own. */
  url(path: string, behaviour?: Behaviour): string {
    if (behaviour !== undefined) this.#behaviours.set(path, behaviour);
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Takes a connection that was accepted elsewhere, behind TLS for instance. */
  take(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  behave(path: string, behaviour: Behaviour): void {
    this.#behaviours.set(path, behaviour);
  }

  to(path: string): Received[] {
    return this.received.filter((one) => one.path === path);
  }

  /** Names of the events a path got, in the order they came. */
  names(path: string): EventName[] {
    return this.to(path).map(({ event }) => event.event);
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }
}
