import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A receiver that answers at once (or never, below `/silent`), and remembers when which transaction's event came. */
export class Endpoint {
  readonly #server: Server;
  readonly #arrivals = new Map<string, Map<string, number>>();
  /** Requests below `/backlog`. */
  backlog = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      let body = "";
      request.on("data", (data) => {
        body += data;
      });
      request.on("end", () => {
        if (path.startsWith("/silent")) return;
        if (path.startsWith("/backlog")) this.backlog += 1;
        else this.#arrived(path, JSON.parse(body).data.topup_tx);
        response.end();
      });
    });
  }

  static async open(): Promise<Endpoint> {
    const endpoint = new Endpoint();
    await new Promise<void>((done) => endpoint.#server.listen(0, "127.0.0.1", done));
    return endpoint;
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Waits until the events of all transactions have come, at most `ms`. */
  async waitFor(path: string, transactions: ReadonlyMap<string, number>, ms: number): Promise<void> {
    for (const end = Date.now() + ms; Date.now() < end; ) {
      const came = this.#arrivals.get(path);
      if ([...transactions.keys()].every((hash) => came?.has(hash))) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Milliseconds from each transaction's time to the arrival of its event. */
  latencies(path: string, transactions: ReadonlyMap<string, number>): number[] {
    return [...transactions].flatMap(([hash, at]) => {
      const came = this.#arrivals.get(path)?.get(hash);
      return came === undefined ? [] : [came - at];
    });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #arrived(path: string, transaction: string): void {
    const arrivals = this.#arrivals.get(path) ?? new Map<string, number>();
    if (!arrivals.has(transaction)) arrivals.set(transaction, performance.now());
    this.#arrivals.set(path, arrivals);
  }
}
