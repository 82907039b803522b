/** Reads of wallets' own lists: a few of a wallet at once, and not many of all. */
import { connect } from "node:net";
import express from "express";
import { pino } from "pino";
import { expect, it } from "vitest";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { inTurns } from "../../../../api/routes/read-turns.ts";
import { serve } from "../../support/serve.ts";

/** A list that answers when the test says so. */
async function openList() {
  const running: { wallet: string; answer: (body?: Buffer) => void }[] = [];
  const clients = { come: 0, left: 0 };
  const client: express.RequestHandler = (request, response, next) => {
    clients.come += 1;
    response.once("close", () => {
      clients.left += 1;
    });
    request.client = { wallet: request.get("wallet") } as never;
    next();
  };
  const list: express.RequestHandler = (request, response) => {
    running.push({
      wallet: String(request.get("wallet")),
      answer: (body = Buffer.alloc(0)) => void response.end(body),
    });
  };
  const app = express()
    .use(client, inTurns(), list)
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const url = await serve(app);
  const get = (wallet: string, signal?: AbortSignal) => fetch(url, { headers: { wallet }, ...(signal && { signal }) });
  return { running, get, url, clients };
}

it("two of a wallet run at once, the others in the order in which they came", async () => {
  const { running, get } = await openList();
  const asked = Array.from({ length: 5 }, () => get("0xa"));
  const other = get("0xb");
  await expect.poll(() => running.length).toBe(3);
  expect(running.map(({ wallet }) => wallet).sort()).toEqual(["0xa", "0xa", "0xb"]);
  for (let n = 0; n < 6; n++) {
    await expect.poll(() => running.length).toBeGreaterThan(n);
    running[n]?.answer();
  }
  expect((await Promise.all([...asked, other])).map(({ status }) => status)).toEqual(Array(6).fill(200));
});

it("those whose client has left take no turn", async () => {
  const { running, get } = await openList();
  const first = [get("0xa"), get("0xa")];
  await expect.poll(() => running.length).toBe(2);
  const leaving = new AbortController();
  const left = get("0xa", leaving.signal).catch(() => "left");
  const last = get("0xa");
  await new Promise((resolve) => setTimeout(resolve, 100));
  leaving.abort();
  expect(await left).toBe("left");
  await new Promise((resolve) => setTimeout(resolve, 100));
  running[0]?.answer();
  await expect.poll(() => running.length).toBe(3);
  running[1]?.answer();
  running[2]?.answer();
  expect((await Promise.all([...first, last])).map(({ status }) => status)).toEqual([200, 200, 200]);
});

it("beyond fifty that wait, others are sent away", async () => {
  const { running, get } = await openList();
  const asked = Array.from({ length: 60 }, () => get("0xa").then(({ status }) => status));
  const refused = async () => (await Promise.all(asked.map((one) => Promise.race([one, 0])))).filter((s) => s === 429);
  await expect.poll(async () => (await refused()).length).toBe(8);
  const answering = setInterval(() => {
    for (const { answer } of running.splice(0)) answer();
  }, 1);
  const statuses = await Promise.all(asked);
  clearInterval(answering);
  expect(statuses.filter((status) => status === 200)).toHaveLength(52);
});

it("those whose client has left make room at once", async () => {
  const { running, get, clients } = await openList();
  const leaving = new AbortController();
  const asked = [get("0xa"), get("0xa")];
  await expect.poll(() => running.length).toBe(2);
  const left = get("0xa", leaving.signal).catch(() => "left");
  await expect.poll(() => clients.come).toBe(3);
  for (let n = 0; n < 49; n++) asked.push(get("0xa"));
  await expect.poll(() => clients.come).toBe(52);
  leaving.abort();
  expect(await left).toBe("left");
  await expect.poll(() => clients.left).toBe(1);
  asked.push(get("0xa"));
  await expect.poll(() => clients.come).toBe(53);
  const answering = setInterval(() => {
    for (const { answer } of running.splice(0)) answer();
  }, 1);
  const statuses = await Promise.all(asked.map(async (one) => (await one).status));
  clearInterval(answering);
  expect(statuses).toEqual(Array(52).fill(200));
});

it("eight of all wallets run at once, and wallets take turns", async () => {
  const { running, get } = await openList();
  const asked: Promise<Response>[] = [];
  const ask = async (wallet: string, count: number) => {
    for (let n = 0; n < count; n++) asked.push(get(wallet));
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  for (const wallet of ["0xa", "0xb", "0xc", "0xd"]) await ask(wallet, 4);
  expect(running).toHaveLength(8);
  await ask("0xe", 1);
  for (let n = 0; n < 17; n++) {
    await expect.poll(() => running.length).toBeGreaterThan(n);
    running[n]?.answer();
  }
  await Promise.all(asked);
  // Of those that waited, one of each wallet that had a read done comes before the second of any.
  expect(new Set(running.slice(8, 13).map(({ wallet }) => wallet)).size).toBeGreaterThanOrEqual(4);
  expect(running.slice(8, 13).map(({ wallet }) => wallet)).toContain("0xe");
});

it("those that take their answer slowly hold up nobody", async () => {
  const { running, get, url } = await openList();
  const { hostname, port } = new URL(url);
  const sockets = ["0xa", "0xb", "0xc", "0xd"].flatMap((wallet) =>
    [1, 2].map(() => {
      const socket = connect({ host: hostname, port: Number(port) }).pause();
      socket.write(`GET / HTTP/1.1\r\nhost: list\r\nwallet: ${wallet}\r\n\r\n`);
      return socket;
    }),
  );
  await expect.poll(() => running.length).toBe(8);
  for (const { answer } of running) answer(Buffer.alloc(32 * 1024 * 1024));
  const next = get("0xe");
  await expect.poll(() => running.length).toBe(9);
  running[8]?.answer();
  expect((await next).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

it("those whose answer waits in its connection behind an earlier one hold up nobody", async () => {
  const { running, get, url } = await openList();
  const { hostname, port } = new URL(url);
  const ask = (wallet: string) => `GET / HTTP/1.1\r\nhost: list\r\nwallet: ${wallet}\r\n\r\n`;
  // The first one's answer does not come yet, so none of the connection leaves.
  const sockets = ["0xa", "0xb", "0xc", "0xd"].map((wallet, nth) => {
    const socket = connect({ host: hostname, port: Number(port) }).resume();
    socket.write(ask(wallet) + ask(`0x${nth}`));
    return socket;
  });
  await expect.poll(() => running.length).toBe(8);
  for (const { wallet, answer } of running) if (/\d$/.test(wallet)) answer();
  const next = Array.from({ length: 4 }, (_, nth) => get(`0xf${nth}`));
  await expect.poll(() => running.length).toBe(12);
  for (const { answer } of running.slice(8)) answer();
  expect((await Promise.all(next)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const socket of sockets) socket.destroy();
});
