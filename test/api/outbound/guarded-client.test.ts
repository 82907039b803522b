/**
 * The client that posts to webhooks' endpoints, against servers that answer as others were seen to: with `100 Continue` though nobody asked
 * (IIS and some Java servers send it for every POST), with other interim answers, with connections that they close, and with none at all.
 */
import { createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { guardedClient } from "../../../api/outbound/endpoint.ts";
import { attempt } from "../../../webhooks/attempt.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A server that writes these bytes for each request; `nth` counts the requests of a connection from 1. */
async function serverOf(behave: (socket: Socket, nth: number) => void) {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    let text = "";
    let nth = 0;
    socket.on("error", () => {});
    socket.on("data", (data) => {
      text += data.toString("latin1");
      const end = text.indexOf("\r\n\r\n") + 4;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (end < 4 || text.length < end + length) return;
      requests.push(Buffer.from(text, "latin1").toString());
      text = "";
      behave(socket, ++nth);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/hook?a=b`, requests, connections: () => connections };
}

function openClient(policy: Parameters<typeof guardedClient>[0] = { allowLocal: true }) {
  const client = guardedClient(policy);
  onTestFinished(() => client.destroy());
  return (url: string, timeoutMs = 5_000) =>
    attempt({ url, body: '{"ß":1}', secret: "s".repeat(16), owner: "0x", timeoutMs }, client);
}

describe("an attempt is delivered by a server that", () => {
  it.each([
    ["answers", OK],
    ["sends a 100 Continue that nobody asked for", `HTTP/1.1 100 Continue\r\n\r\n${OK}`],
    [
      "sends several interim answers",
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${OK}`,
    ],
    ["says 102 Processing", `HTTP/1.1 102 Processing\r\n\r\n${OK}`],
    ["cuts its body short", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort"],
    ["has a body where none may be", "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok"],
  ])("%s", async (_name, text) => {
    const server = await serverOf((socket) => void (text.endsWith("short") ? socket.end(text) : socket.write(text)));
    const outcome = await openClient()(server.url);
    expect(outcome).toMatchObject({ result: "delivered", error: null });
    const [request = ""] = server.requests;
    expect(request).toMatch(/^POST \/hook\?a=b HTTP\/1.1\r\n/);
    expect(request).toMatch(/content-length: 8\r\n/i);
    expect(request).not.toMatch(/expect:|transfer-encoding:/i);
    expect(request.endsWith('{"ß":1}')).toBe(true);
  });

  it("keeps the connection, which the next one then uses", async () => {
    const server = await serverOf((socket) => void socket.write(OK));
    const post = openClient();
    for (const _ of [1, 2, 3]) expect(await post(server.url)).toMatchObject({ result: "delivered", response: "ok" });
    expect(server.connections()).toBe(1);
  });

  it("closed the connection after the answer before", async () => {
    const server = await serverOf((socket) => void socket.end(OK));
    const post = openClient();
    for (const _ of [1, 2]) expect(await post(server.url)).toMatchObject({ result: "delivered" });
  });
});

describe("an attempt fails, and says why, at a server that", () => {
  it.each<[string, (socket: Socket) => void, string, string]>([
    ["resets", (socket) => socket.resetAndDestroy(), "connection", "the connection was closed before an answer"],
    ["hangs up", (socket) => socket.destroy(), "connection", "the connection was closed before an answer"],
    ["says nothing", () => {}, "timeout", "no answer within 0.5 seconds"],
    [
      "only ever says 100 Continue",
      (s) => s.write("HTTP/1.1 100 Continue\r\n\r\n"),
      "timeout",
      "no answer within 0.5 seconds",
    ],
    [
      "sends interim answers without end",
      (s) => s.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(101)),
      "connection",
      "the server sent more than 16 interim answers",
    ],
    [
      "redirects",
      (s) => s.write("HTTP/1.1 307 X\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n"),
      "status",
      "answered 307: redirects are not followed",
    ],
    [
      "speaks another protocol",
      (s) => s.write("220 smtp ready\r\n"),
      "connection",
      expect.stringContaining("Parse Error") as never,
    ],
    [
      "sends endless headers",
      (s) => s.write(`HTTP/1.1 200 OK\r\nx: ${"h".repeat(100_000)}\r\n\r\n`),
      "connection",
      expect.stringContaining("overflow") as never,
    ],
    [
      "switches protocols",
      (s) => s.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
      "connection",
      "the connection was closed before an answer",
    ],
  ])("%s", async (_name, behave, result, error) => {
    const server = await serverOf(behave);
    const limit = result === "timeout" ? 500 : 5_000;
    expect(await openClient()(server.url, limit)).toMatchObject({ result, error });
  });
});

describe("an attempt is not made to", () => {
  it.each([
    ["a loopback address", "http://127.0.0.1:1/", "must be an https URL"],
    ["a loopback address over TLS", "https://127.0.0.1:1/", "is a loopback address"],
    ["a private address", "https://10.0.0.1/", "not a public address"],
    ["a name that leads to a private address", "https://inside.example/", "not a public address"],
    ["a name of which one address is private", "https://both.example/", "not a public address"],
  ])("%s", async (_name, url, words) => {
    const resolve = async (host: string) => [
      ...(host === "both.example" ? [{ address: "203.0.114.1", family: 4 }] : []),
      { address: "10.0.0.1", family: 4 },
    ];
    const outcome = await openClient({ allowLocal: false, resolve })(url);
    expect(outcome).toMatchObject({ result: "refused", error: expect.stringContaining(words) });
  });
});
