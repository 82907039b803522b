import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ipKeyGenerator } from "express-rate-limit";

/** Bits of an IPv6 address that a client does not choose: it owns a whole /56. */
export const IPV6_CLIENT_BITS = 56;
/** A proxy on this machine, or its own programs. */
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** Closes connections of an address that has `most` of them: one client must not take them all. This machine's own are not counted. */
export function limitConnectionsEach(server: Server, most: number): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || LOOPBACK.test(remoteAddress)) return;
    const from = ipKeyGenerator(remoteAddress, IPV6_CLIENT_BITS);
    const count = open.get(from) ?? 0;
    if (count >= most) {
      socket.destroy();
      return;
    }
    open.set(from, count + 1);
    socket.once("close", () => {
      const left = (open.get(from) ?? 0) - 1;
      if (left > 0) open.set(from, left);
      else open.delete(from);
    });
  });
}
