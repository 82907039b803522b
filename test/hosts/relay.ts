/**
 * Runs on a host: takes connections for a program that listens on its loopback only. With a certificate it is the TLS proxy before a worker.
 * After SIGUSR2 every piece is 80 ms late, each way, until the next one: the kernel may have no `tc netem`.
 *
 * node relay.ts <port> <port on loopback> [<certificate> <key>]
 */
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

const [port, target, certificate, key] = process.argv.slice(2);
let late = 0;

function join(client: Socket): void {
  const server = connect(Number(target), "127.0.0.1");
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    from.setNoDelay(true);
    from.on("data", (bytes) => {
      const send = (): void => void (to.destroyed || to.write(bytes));
      if (late === 0) send();
      else setTimeout(send, late);
    });
    // The other side learns of a reset by the end of its own connection.
    from.on("error", () => {});
    from.on("close", () => setTimeout(() => to.destroy(), late));
  }
}

const server =
  certificate === undefined || key === undefined
    ? createServer(join)
    : createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key) }, join);
server.listen(Number(port), "0.0.0.0");
process.on("SIGUSR2", () => {
  late = late === 0 ? 80 : 0;
});
