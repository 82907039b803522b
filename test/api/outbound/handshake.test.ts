/** TLS to receivers of webhooks and to workers, against real servers on loopback whose certificates are trusted here. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { request } from "undici";
import { expect, it, onTestFinished, vi } from "vitest";
import { guardedAgent, guardedClient } from "../../../api/outbound/endpoint.ts";
import { WorkerClient } from "../../../api/workers/worker-client.ts";
import { Turns } from "../../../shared/turns.ts";
import { attempt } from "../../../webhooks/attempt.ts";
import { makeCertificate } from "../../support/certificate.ts";

function trusted(comment = 0) {
  const certificate = makeCertificate(comment);
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate.cert]);
  onTestFinished(() => setDefaultCACertificates(before));
  return certificate;
}

/** A server that answers each request by `answer`, whose connections are counted; attempts of deliveries to it, and requests as to a worker. */
async function rawReceiver(answer: (socket: TLSSocket) => void) {
  let connections = 0;
  const server = createTlsServer(trusted(), (socket) => {
    connections += 1;
    socket
      .on("error", () => {})
      .on("data", (data) => {
        if (data.includes("{}")) answer(socket);
      });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const [client, agent] = [guardedClient({ allowLocal: true }), guardedAgent({ allowLocal: true })];
  onTestFinished(() => {
    client.destroy();
    void agent.destroy();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const send = (owner = "0x") => attempt({ url, secret: "s".repeat(16), owner, body: "{}", timeoutMs: 30_000 }, client);
  const ask = async () => (await request(url, { dispatcher: agent, method: "POST", body: "{}" })).body.text();
  return { send, ask, connections: () => connections };
}

/** A receiver with such a certificate, and attempts of deliveries to it. */
async function receiver(comment = 0, isTrusted = true, turns = new Turns(0)) {
  const certificate = isTrusted ? trusted(comment) : makeCertificate(comment);
  const bodies: string[] = [];
  const server = createServer(certificate, (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      bodies.push(body);
      response.end("x".repeat(100_000));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const client = guardedClient({ allowLocal: true, turns });
  onTestFinished(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const send = (body: string, timeoutMs = 5_000, owner = "0x") =>
    attempt({ url, secret: "s".repeat(16), owner, body, timeoutMs }, client);
  const agent = guardedAgent({ allowLocal: true });
  onTestFinished(() => agent.destroy());
  const ask = () => request(url, { dispatcher: agent, method: "POST", body: "{}" });
  return { send, ask, bodies };
}

it("delivers to a server with a trusted certificate, long bodies and answers too", async () => {
  const { send, bodies } = await receiver();
  const long = JSON.stringify({ text: "ß".repeat(200_000) });
  for (const body of ["{}", long]) expect(await send(body)).toMatchObject({ result: "delivered", status: 200 });
  expect(bodies).toEqual(["{}", long]);
});

it("delivers where the certificates are as long as public ones are", async () => {
  const { send } = await receiver(10_000);
  expect(await send("{}")).toMatchObject({ result: "delivered" });
});

it("breaks off a handshake with more certificates than any authority's, and says so", async () => {
  const { send, bodies } = await receiver(40_000);
  expect(await send("{}")).toMatchObject({
    result: "connection",
    error: expect.stringContaining("the TLS handshake is longer than 16384 bytes"),
  });
  expect(bodies).toEqual([]);
});

/** Answers with this head and body, in pieces of so many bytes. Each piece is a record of its own, which has 22 bytes more. */
const inPieces = (length: number, bytes: number) => async (socket: TLSSocket) => {
  const write = (text: string) => new Promise((done) => socket.write(text, done));
  await write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`);
  for (let left = length; left > 0 && !socket.destroyed; left -= bytes) await write("x".repeat(Math.min(left, bytes)));
};

it("breaks off an answer that takes far more bytes of TLS than it has", async () => {
  const { send } = await rawReceiver(async (socket) => {
    const write = (text: string) => new Promise((done) => socket.write(text, done));
    await write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ");
    for (let n = 0; n < 5_000 && !socket.destroyed; n++) await write("x");
    await write("\r\n\r\n");
  });
  expect(await send()).toMatchObject({
    result: "connection",
    error: expect.stringContaining("what the server sent in its TLS connection is longer than 65536 bytes"),
  });
});

it("reads a worker's answer in pieces as small as events, however long it is", async () => {
  const { ask } = await rawReceiver(inPieces(600_000, 60));
  expect(await ask()).toHaveLength(600_000);
});

it("breaks off a worker's answer that takes far more bytes of TLS than it has", async () => {
  const { ask } = await rawReceiver(inPieces(100_000, 1));
  await expect(ask()).rejects.toThrow("what the server sent in its TLS connection is longer than");
});

it("counts the bytes of each answer anew on a kept connection", async () => {
  const answer = `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ${"x".repeat(15_000)}\r\n\r\n`;
  const { send, connections } = await rawReceiver((socket) => void socket.write(answer));
  for (let n = 0; n < 6; n++) expect(await send()).toMatchObject({ result: "delivered" });
  expect(connections()).toBe(1);
});

/** Lets another owner hold the turn until `release`. `waiting`: the owners who have asked for turns meanwhile. */
function hold(turns: Turns) {
  const held = Promise.withResolvers<void>();
  void turns.run("other", new AbortController().signal, () => held.promise);
  const asked = vi.spyOn(turns, "run");
  return { release: () => held.resolve(), waiting: () => asked.mock.calls.map(([owner]) => owner) };
}

it("hands what comes to TLS at its owner's turn, and gives up an attempt that waits for long", async () => {
  const turns = new Turns(0);
  const { release } = hold(turns);
  const { send, bodies } = await receiver(0, true, turns);
  const waiting = send("{}", 30_000);
  expect(await send("{}", 200)).toMatchObject({ result: "delayed", durationMs: expect.any(Number) });
  expect(bodies).toEqual([]);
  release();
  expect(await waiting).toMatchObject({ result: "delivered" });
});

it("hands on at once what follows the handshake, also for later requests", async () => {
  // With a stopped clock no piece is slow.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked = vi.spyOn(Turns.prototype, "run");
  onTestFinished(() => asked.mockRestore());
  const { send, connections } = await rawReceiver((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  expect(await send()).toMatchObject({ result: "delivered" });
  const handshake = asked.mock.calls.length;
  for (let n = 0; n < 3; n++) expect(await send()).toMatchObject({ result: "delivered" });
  expect(connections()).toBe(1);
  expect(asked).toHaveBeenCalledTimes(handshake);
});

it("lets what a receiver sends beyond the beginning of an answer wait for turns", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = new Turns(0);
  const { send, bodies } = await receiver(0, true, turns);
  const asked = vi.spyOn(turns, "run");
  // Its answers have 100,000 bytes.
  expect(await send("{}")).toMatchObject({ result: "delivered" });
  expect(bodies).toEqual(["{}"]);
  expect(asked.mock.calls.length).toBeGreaterThan(1);
});

it("does not count time that an attempt waits for its turn as its receiver's", async () => {
  const turns = new Turns(0);
  const { release, waiting } = hold(turns);
  const { send, bodies } = await receiver(0, true, turns);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const sent = send("{}", 60_000);
  const until = async (isSo: () => boolean) => {
    for (; !isSo(); vi.advanceTimersByTime(0)) await new Promise(setImmediate);
  };
  await until(() => waiting().length === 1);
  vi.advanceTimersByTime(59_000);
  release();
  await until(() => bodies.length === 1);
  vi.advanceTimersByTime(1_000);
  const outcome = await sent;
  expect(outcome).toMatchObject({ result: "delivered" });
  expect(outcome.heldMs).toBeLessThanOrEqual(1_000);
});

it("serves an owner whose receiver has answered before owners who were never there", async () => {
  const turns = new Turns(0);
  const { send, bodies } = await receiver(0, true, turns);
  expect(await send("{}", 60_000, "known")).toMatchObject({ result: "delivered" });
  const { release, waiting } = hold(turns);
  const sent = [];
  for (const owner of ["a", "b", "c", "known"]) {
    sent.push(send(owner, 60_000, owner));
    await vi.waitUntil(() => waiting().includes(owner), 60_000);
  }
  release();
  await Promise.all(sent);
  // Every other turn is that of who has waited longest.
  expect(bodies.slice(1, 3)).toContain("known");
});

/** Answers, and closes the connection at once. */
const andCloses = (socket: TLSSocket) => void socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok");

it("reads an answer to its end where its connection closes while it waits for a turn", async () => {
  const { send, ask } = await rawReceiver(andCloses);
  for (let n = 0; n < 3; n++) {
    const sent = await Promise.all(Array.from({ length: 4 }, () => send()));
    for (const outcome of sent) expect(outcome).toMatchObject({ result: "delivered", response: "ok" });
    expect(await Promise.all(Array.from({ length: 4 }, ask))).toEqual(Array(4).fill("ok"));
  }
});

it("keeps a connection for each owner: its bytes wait for the turns of who asked", async () => {
  const { send, connections } = await rawReceiver((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  for (const owner of ["0xa", "0xb", "0xa", "0xb"]) expect(await send(owner)).toMatchObject({ result: "delivered" });
  expect(connections()).toBe(2);
});

it("delivers nothing to a server whose certificate nobody signed, or that is not there", async () => {
  const { send, bodies } = await receiver(0, false);
  expect(await send("{}")).toMatchObject({ result: "connection", error: expect.stringMatching(/self-signed|verify/) });
  expect(bodies).toEqual([]);
  const client = guardedClient({ allowLocal: true });
  onTestFinished(() => client.destroy());
  const message = {
    url: "https://127.0.0.1:1/hook",
    secret: "s".repeat(16),
    owner: "0x",
    body: "{}",
    timeoutMs: 5_000,
  };
  const outcome = await attempt(message, client);
  expect(outcome).toMatchObject({ result: "connection", error: "the connection was refused" });
});

it("asks a worker with a trusted certificate twice, and reads its long answers", async () => {
  const { ask, bodies } = await receiver(10_000);
  for (const _ of [1, 2]) expect(await (await ask()).body.text()).toHaveLength(100_000);
  expect(bodies).toEqual(["{}", "{}"]);
});

it("breaks off a worker's handshake with more certificates than any authority's", async () => {
  const { ask, bodies } = await receiver(40_000);
  await expect(ask()).rejects.toThrow("the TLS handshake is longer than 16384 bytes");
  expect(bodies).toEqual([]);
});

it("tells a worker that is not there from one that nobody signed", async () => {
  const { ask } = await receiver(0, false);
  await expect(ask()).rejects.toThrow(/self-signed|verify/);
  const agent = guardedAgent({ allowLocal: true });
  onTestFinished(() => agent.destroy());
  await expect(request("https://127.0.0.1:1/", { dispatcher: agent })).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

it("hands to TLS what a worker sends in the same turns, also after the worker dropped a kept connection", async () => {
  const run = vi.spyOn(Turns.prototype, "run");
  let answers = 0;
  const server = createServer(trusted(), (_request, response) => {
    answers += 1;
    if (answers === 1) response.destroy();
    else response.end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const client = new WorkerClient({ allowLocal: true });
  onTestFinished(async () => {
    run.mockRestore();
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  // The answer is no worker's.
  await client.probe(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, 5_000).catch(() => {});
  expect(answers).toBe(2);
  expect(new Set(run.mock.contexts).size).toBe(1);
});
