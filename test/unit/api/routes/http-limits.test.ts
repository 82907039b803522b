/** What stands between the gateway and who is slow, or curious, on purpose. */
import { EventEmitter, once } from "node:events";
import { get, type RequestListener, type Server } from "node:http";
import { connect } from "node:net";
import express from "express";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { answerMalformed } from "../../../../api/routes/errors.ts";
import { createHttpServer, operatorsOnly } from "../../../../api/routes/limits.ts";
import { limitConnectionsEach } from "../../../../shared/connections.ts";
import { serve } from "../../support/serve.ts";

type Times = Parameters<typeof createHttpServer>[2];
let server: Server;

async function listen(app: RequestListener, maxConnections = 10, times?: Times): Promise<number> {
  server = createHttpServer(app, maxConnections, times);
  return Number(new URL(await serve(server)).port);
}

describe("the HTTP server", () => {
  it("closes connections beyond the limit, and serves those within it", async () => {
    const port = await listen((_request, response) => response.end("served"), 1);
    const first = connect(port, "127.0.0.1");
    await once(first, "connect");
    const second = connect(port, "127.0.0.1").on("error", () => {});
    await once(second, "close");
    first.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const [data] = await once(first, "data");
    expect(String(data)).toContain("served");
    first.destroy();
  });

  it("gives headers, bodies and silent readers a time, and answers theirs", async () => {
    await listen(() => {});
    expect(server.headersTimeout).toBeGreaterThan(0);
    expect(server.headersTimeout).toBeLessThanOrEqual(20_000);
    expect(server.requestTimeout).toBeLessThanOrEqual(60_000);
    // A plain answer is silent for as long as a lock, a completion and its inclusion take: 20 + 120 + 30 s.
    expect(server.timeout).toBeGreaterThan(170_000 + 60_000);
    expect(server.timeout).toBeLessThanOrEqual(600_000);
  });

  it.each([
    ["plain ones", ""],
    ["those with an unknown Expect", "Expect: more\r\n"],
  ])("closes a connection with many requests under way, %s, and hands out no more of them", async (_what, header) => {
    let asked = 0;
    const port = await listen(() => {
      asked += 1;
    });
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${header}\r\n`.repeat(1_000));
    await once(socket, "close");
    expect(asked).toBe(16);
  });

  const readAll: RequestListener = (request, response) => request.resume().on("end", () => response.end());
  const large = `10000\r\n${"x".repeat(65_536)}\r\n`.repeat(100);
  it.each<[string, RequestListener, string]>([
    ["is read", readAll, ""],
    ["is read, after large ones", readAll, large],
    ["is never read", () => {}, ""],
    ["is not read before the answer", (_request, response) => response.end(), ""],
  ])("closes the connection of a body of tiny pieces that %s", async (_what, app, before) => {
    const port = await listen(app);
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    let pieces = 0;
    socket.resume().write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${before}`);
    // Whether or not the answer is there before the pieces.
    const timer = setInterval(() => {
      pieces += 1_000;
      socket.write("1\r\nx\r\n".repeat(1_000));
    }, 10);
    await expect.poll(() => socket.destroyed || pieces > 100_000).toBe(true);
    clearInterval(timer);
    expect(socket.destroyed).toBe(true);
  });

  it.each([
    ["of 16 KiB", 16_384],
    ["of 72 bytes", 72],
  ])("receives at most 16 MiB of a body that nobody reads, in pieces %s", async (_what, size) => {
    const port = await listen((_request, response) => response.end());
    // It goes on sending after the end of the answer.
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
    socket.resume().write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const pieces = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`.repeat(Math.ceil(65_536 / size));
    const pump = () => {
      while (!socket.destroyed && socket.write(pieces));
    };
    socket.on("drain", pump);
    pump();
    await expect.poll(() => socket.destroyed, { timeout: 30_000 }).toBe(true);
    const received = (16 * 1024 * 1024 * size) / Math.max(size, 1_024);
    // More is in buffers on the way.
    expect(socket.bytesWritten).toBeLessThan(received + 16 * 1024 * 1024);
    expect(socket.bytesWritten).toBeGreaterThan(received / 2);
  });

  it.each([
    ["ends the connection after the answer to a long body that nobody read", 1_000_000, true],
    ["keeps the connection after the answer to a short one", 1_000, false],
  ])("%s", async (_what, length, ends) => {
    const port = await listen((request, response) => {
      if (request.method === "GET") response.end("next");
      else response.writeHead(401).end("no key");
    });
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    let received = "";
    socket.on("data", (text) => {
      received += text;
    });
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
    // The client goes on sending, as if it had not seen the answer.
    await expect.poll(() => received).toContain("no key");
    socket.write(`${"x".repeat(length)}GET / HTTP/1.1\r\nHost: x\r\n\r\n`);
    await expect.poll(() => (ends ? socket.readableEnded : received.endsWith("next"))).toBe(true);
    expect([/^connection: close/im.test(received), received.endsWith("next"), socket.errored]).toEqual([
      ends,
      !ends,
      null,
    ]);
    socket.destroy();
  });

  it("gives a client that neither sends the rest of a long body nor leaves no longer than a request may take", async () => {
    const port = await listen((_request, response) => response.end("no key"), 10, {
      headers: 200,
      request: 300,
      check: 50,
    });
    answerMalformed(server, "https://docs.test", pino({ level: "silent" }));
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
    socket.resume().write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    await once(socket, "end");
    const open = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    await expect.poll(open).toBe(0);
    socket.destroy();
  });

  it("reads a body of many pieces that are not tiny, and a small one of tiny pieces", async () => {
    const port = await listen((request, response) => {
      let bytes = 0;
      request.on("data", (piece) => {
        bytes += piece.length;
      });
      request.on("end", () => response.end(`received ${bytes};`));
    });
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    let received = "";
    socket.on("data", (text) => {
      received += text;
    });
    for (const [piece, count] of [
      [`80\r\n${"x".repeat(128)}\r\n`, 5_000],
      ["1\r\nx\r\n", 4_000],
    ] as const) {
      socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
      socket.write(`${piece.repeat(count)}0\r\n\r\n`);
    }
    await expect.poll(() => received).toMatch(/received 640000;.*received 4000;/s);
    socket.destroy();
  });

  it("answers sixteen requests of a connection in their order, and as many again", async () => {
    const port = await listen((request, response) => setTimeout(() => response.end(`${request.url};`), 10));
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    let received = "";
    socket.on("data", (text) => {
      received += text;
    });
    const answered = () => [...received.matchAll(/\/(\d+);/g)].map(([, number]) => Number(number));
    for (const first of [0, 16]) {
      for (let n = first; n < first + 16; n++) socket.write(`GET /${n} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await expect.poll(answered).toEqual(Array.from({ length: first + 16 }, (_, n) => n));
    }
    socket.destroy();
  });

  it.each([
    ["headers that are late", "GET / HTTP/1.1\r\nHost: x\r\n"],
    ["a body that is late", "POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\n"],
    ["what is no HTTP", "HELO\r\n\r\n"],
  ])("answers %s, and closes the connection though the client keeps its side open", async (_what, bytes) => {
    const port = await listen(() => {}, 10, { headers: 200, request: 300, check: 50 });
    answerMalformed(server, "https://docs.test", pino({ level: "silent" }));
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
    socket.write(bytes);
    const [data] = await once(socket, "data");
    expect(String(data)).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    const open = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    await expect.poll(open).toBe(0);
    socket.destroy();
  });

  it("answers what is no HTTP on a connection that had whole answers, as a proxy keeps it, but not within an answer", async () => {
    const port = await listen((request, response) => {
      response.write("begun ");
      if (request.url === "/whole") response.end("and ended");
    });
    answerMalformed(server, "https://docs.test", pino({ level: "silent" }));
    const received = async (path: string) => {
      const socket = connect(port, "127.0.0.1").setEncoding("utf8");
      let text = "";
      socket.on("data", (piece) => {
        text += piece;
      });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await expect.poll(() => text).toMatch(path === "/whole" ? /and ended/ : /begun/);
      socket.write("FOO / HTTP/1.1\r\nHost: x\r\n\r\n");
      await once(socket, "close");
      return text;
    };
    expect(await received("/whole")).toMatch(/and ended.*HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    expect(await received("/part")).not.toContain("400");
  });
});

describe("connections of one address", () => {
  const server = new EventEmitter();
  limitConnectionsEach(server as Server, 2);
  /** A new connection; whether it was closed. */
  const open = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroyed: false, destroy: () => {} });
    socket.destroy = () => {
      socket.destroyed = true;
    };
    server.emit("connection", socket);
    return socket;
  };

  it("are limited, until one of them ends; others have their own", () => {
    const first = open("192.0.2.1");
    expect([first, open("192.0.2.1"), open("192.0.2.1"), open("192.0.2.2")].map(({ destroyed }) => destroyed)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    first.emit("close");
    expect([open("192.0.2.1"), open("192.0.2.1")].map(({ destroyed }) => destroyed)).toEqual([false, true]);
  });

  it("count together within the part of an IPv6 address that its owner chooses", () => {
    const destroyed = ["2001:db8::1", "2001:db8:0:1::2", "2001:db8:0:ff::3"].map((address) => open(address).destroyed);
    expect(destroyed).toEqual([false, false, true]);
  });

  it("are not counted on this machine", () => {
    const all = Array.from({ length: 10 }, () => [open("127.0.0.1"), open("::ffff:127.0.0.1"), open("::1")]).flat();
    expect(all.some(({ destroyed }) => destroyed)).toBe(false);
  });
});

describe("/metrics", () => {
  const TOKEN = "0123456789abcdef";
  const ask = async (token: string | undefined, headers: Record<string, string>) => {
    const port = await listen(
      express().get("/metrics", operatorsOnly(token), (_request, response) => response.send("m")),
    );
    return (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).status;
  };

  it("is open to this machine without a token", async () => {
    expect(await ask(undefined, {})).toBe(200);
  });

  it("is not open to a web page whose name was pointed to this machine", async () => {
    const port = await listen(express().get("/metrics", operatorsOnly(undefined), (_, response) => response.send("m")));
    const statusAs = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const call = get({ port, host: "127.0.0.1", path: "/metrics", headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        call.on("error", reject);
      });
    for (const host of ["attacker.example", `attacker.example:${port}`, "127.0.0.1.attacker.example"]) {
      expect(await statusAs(host)).toBe(403);
    }
    for (const host of [`localhost:${port}`, "127.0.0.1", `[::1]:${port}`]) expect(await statusAs(host)).toBe(200);
  });

  it.each(["x-forwarded-for", "forwarded", "x-real-ip"])("is not open to what a proxy passes on (%s)", async (name) => {
    expect(await ask(undefined, { [name]: "127.0.0.1" })).toBe(403);
  });

  it("with a token needs it from everybody", async () => {
    expect(await ask(TOKEN, { authorization: `Bearer ${TOKEN}`, "x-forwarded-for": "192.0.2.1" })).toBe(200);
    for (const headers of [
      {},
      { authorization: TOKEN },
      { authorization: `Bearer ${TOKEN}0` },
      { authorization: "Bearer" },
    ])
      expect(await ask(TOKEN, headers as Record<string, string>)).toBe(403);
  });
});
