import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { trySignerLock } from "../../../../api/chain/signer-lock.ts";

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

it("drops a connection whose answer was lost, which could hold the lock", async () => {
  let closed: Promise<unknown> | undefined;
  const server = createServer((socket) => {
    closed = once(socket, "close");
    socket.once("data", () => socket.write(READY));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const space = { databaseUrl: `postgres://gateway@127.0.0.1:${port}/x`, chainId: 1, timeoutMs: 200 };
  await expect(trySignerLock(space, `0x${"11".repeat(20)}`)).rejects.toThrow("timeout");
  await closed;
  server.close();
});
