import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** How a connection behaves: as it should; each piece late; cut at once; taken and never answered; or taken and never passed on. */
export type Weather =
  | { kind: "fair" }
  | { kind: "slow"; ms: number }
  | { kind: "cut" }
  | { kind: "mute" }
  | { kind: "deaf" };

/** A TCP connection between two parts, with weather. */
export class Wire {
  #weather: Weather = { kind: "fair" };
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  /** `port`: where it listens; any free one by default. */
  static async open(target: number, port = 0): Promise<Wire> {
    const wire = new Wire(target);
    await new Promise<void>((resolve) => wire.#server.listen(port, "127.0.0.1", resolve));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  set weather(weather: Weather) {
    this.#weather = weather;
    if (weather.kind === "cut") for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket): void {
    if (this.#weather.kind === "cut") return void client.destroy();
    const server = connect(this.#target, "127.0.0.1");
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      // A reset is weather too; the other side learns of it by its own socket's end.
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (bytes) => this.#pass(server, bytes, true));
    server.on("data", (bytes) => this.#pass(client, bytes, false));
  }

  #pass(to: Socket, bytes: Buffer, asks: boolean): void {
    const weather = this.#weather;
    // The question arrives, its answer never does: the case in which "no answer" must not mean "not done".
    if (weather.kind === "mute" && !asks) return;
    if (weather.kind === "deaf" && asks) return;
    const send = () => void (to.destroyed || to.write(bytes));
    if (weather.kind === "slow") setTimeout(send, weather.ms);
    else send();
  }
}
