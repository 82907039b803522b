import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { pino } from "pino";
import { expect, it } from "vitest";
import { SignerLock } from "../../api/chain/signer-lock.ts";

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

it("lets go of a connection whose answer was lost: it could hold the lock against this very process", async () => {
  let closed: Promise<unknown> | undefined;
  const server = createServer((socket) => {
    closed = once(socket, "close");
    socket.once("data", () => socket.write(READY));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const lock = new SignerLock(
    `postgres://gateway@127.0.0.1:${port}/x`,
    1,
    `0x${"11".repeat(20)}`,
    pino({ level: "silent" }),
    200,
  );
  await expect(lock.acquire()).rejects.toThrow("timeout");
  expect(lock.held).toBe(false);
  await closed;
  server.close();
});
