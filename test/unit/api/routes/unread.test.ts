/** What clients ask for and do not read must not use up the memory of the process. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import express from "express";
import { expect, it, onTestFinished } from "vitest";
import { boundUnread } from "../../../../api/routes/unread.ts";
import { serve } from "../../support/serve.ts";

const MIB = 1024 * 1024;
/** Longer than what the system takes of an answer that nobody reads, on any machine. */
const LONG = 40 * MIB;

/** A service whose answers have `LONG` bytes; `whole` or in pieces. */
async function open(most: number) {
  const closed: string[] = [];
  const app = express().use(boundUnread(most, (owner) => closed.push(owner)));
  const client: express.RequestHandler = (request, _response, next) => {
    request.client = { wallet: request.get("wallet") } as never;
    next();
  };
  app.get("/whole", client, (_request, response) => void response.end(Buffer.alloc(LONG)));
  app.get("/pieces", client, (_request, response) => {
    for (let sent = 0; sent < LONG; sent += MIB) response.write(Buffer.alloc(MIB));
  });
  const url = await serve(app);
  /** Asks without reading; several requests on one connection. */
  const ask = async (path: string, wallet: string, times = 1): Promise<Socket> => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    socket.pause().write(`GET ${path} HTTP/1.1\r\nhost: x\r\nwallet: ${wallet}\r\n\r\n`.repeat(times));
    return socket;
  };
  return { url, closed, ask };
}

it.each(["/whole", "/pieces"])(
  "closes the connection of who asks most without reading %s, and serves others",
  async (path) => {
    const { url, closed, ask } = await open(3 * LONG);
    await ask(path, "0xb");
    for (let n = 0; n < 4; n++) await ask(path, "0xa");
    await expect.poll(() => closed.length).toBeGreaterThan(0);
    expect(new Set(closed)).toEqual(new Set(["0xa"]));
    const reply = await fetch(`${url}/whole`, { headers: { wallet: "0xc" } });
    expect((await reply.arrayBuffer()).byteLength).toBe(LONG);
  },
);

it("counts answers that wait behind others on one connection", async () => {
  const { closed, ask } = await open(3 * LONG);
  await ask("/whole", "0xa", 6);
  await expect.poll(() => closed.length).toBeGreaterThan(0);
});

it("forgets what was read, and what was left", async () => {
  const { url, closed, ask } = await open(3 * LONG);
  for (let n = 0; n < 5; n++) {
    await (await fetch(`${url}/whole`, { headers: { wallet: "0xa" } })).arrayBuffer();
    const socket = await ask("/whole", "0xa");
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await once(socket, "close");
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(closed).toEqual([]);
});
