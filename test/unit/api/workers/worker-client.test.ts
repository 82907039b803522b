import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { WorkerClient } from "../../../../api/workers/worker-client.ts";
import { type Dispatch, healthSchema } from "../../../../protocol/dispatch.ts";
import { freePort } from "../../../../scripts/dev/ports.ts";
import { createServer as createWorkerServer } from "../../../../worker/server.ts";
import { event } from "../../../worker/support/played-worker.ts";

const servers: Server[] = [];
const clients: WorkerClient[] = [];
const hosts: ChildProcess[] = [];
afterEach(async () => {
  // Those who wait for one are told by its end.
  for (const host of hosts.splice(0)) host.kill("SIGKILL");
  for (const client of clients.splice(0)) await client.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}
/** A host whose process listens and stands still, and whose queue is full: the system answers no further connection. */
async function crowdedHost(): Promise<string> {
  const script = `const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
  const host = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
  hosts.push(host);
  const [port] = await once(host.stdout, "data");
  const waiting = Array.from({ length: 16 }, () => connect(Number(port), "127.0.0.1").on("error", () => {}));
  await Promise.any(waiting.map((socket) => once(socket, "connect")));
  return `http://127.0.0.1:${port}`;
}
function client(allowLocal: boolean): WorkerClient {
  const made = new WorkerClient({ allowLocal });
  clients.push(made);
  return made;
}
const offer = {
  assignment: {
    jobId: "0x0123456789abcdef0123456789abcdef",
    worker: `0x${"11".repeat(20)}`,
    attempt: 1,
    acknowledgeBy: 9,
  },
  signature: `0x${"22".repeat(65)}`,
  model: "qwen3-8b",
  request: { messages: [{ role: "user", content: "Hello" }], max_tokens: 10 },
} as const satisfies Dispatch as Dispatch;
const completion = {
  jobId: offer.assignment.jobId,
  proofHash: `0x${"33".repeat(32)}`,
  promptTokens: 1,
  completionTokens: 1,
  reasoningTokens: 0,
  textBytes: 2,
  completedAt: 1,
};
/** The last event of the job's stream. */
const done = event("completed", { completion, signature: `0x${"44".repeat(65)}`, finish_reason: "stop" });
const dispatch = (endpoint: string, allowLocal = true) =>
  client(allowLocal).dispatch(
    endpoint,
    offer,
    { acknowledged() {}, begun() {}, delta() {}, reasoning() {} },
    AbortSignal.timeout(60_000),
  );

describe("the gateway's connection to workers", () => {
  it.each([
    "http://127.0.0.1:1",
    "https://127.0.0.1:1",
    "https://10.0.0.5",
    "https://169.254.169.254/latest",
    "https://[::ffff:10.0.0.5]",
    "https://worker.internal",
    "https://user:password@example.com",
    "ftp://example.com",
  ])("in production never leads to %s, and nothing was offered", async (endpoint) => {
    await expect(dispatch(endpoint, false)).rejects.toMatchObject({ code: "endpoint_refused", offered: false });
    await expect(client(false).probe(endpoint, 1_000)).rejects.toMatchObject({ code: "ENDPOINT_REFUSED" });
  });

  it.each([
    ["ends", (response: ServerResponse) => void response.writeHead(404, { "content-length": "2" }).end("{}")],
    ["never ends", (response: ServerResponse) => void response.writeHead(404).write("{")],
  ])("takes a 404 for an output for what it is when its body %s", async (_what, answer) => {
    const url = await serve((_request, response) => answer(response));
    const wanted = {
      assignment: offer.assignment,
      signature: offer.signature,
      access: { expiresAt: 9, signature: offer.signature },
    };
    expect(await client(true).fetchOutput(url, wanted, AbortSignal.timeout(60_000))).toBeNull();
    // An error event that nobody listens to ended the gateway here; vitest fails on one too.
    await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it("keeps the path of an endpoint, and follows no redirect", async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(307, { location: "http://127.0.0.1:1/jobs" }).end();
    });
    await expect(dispatch(`${url}/gpu-7/`)).rejects.toMatchObject({ code: "refused" });
    expect(asked).toEqual(["/gpu-7/jobs"]);
  });

  it("takes an honest refusal as one, and anything else for an unknown outcome", async () => {
    let body = JSON.stringify({ error: { code: "busy", message: "full" } });
    const url = await serve((_request, response) => void response.writeHead(503).end(body));
    await expect(dispatch(url)).rejects.toMatchObject({ code: "busy", offered: false });
    body = "<html>503</html>";
    await expect(dispatch(url)).rejects.toMatchObject({ code: "refused", offered: true });
    body = "x".repeat(1_000_000);
    await expect(dispatch(url)).rejects.toMatchObject({ code: "refused", offered: true });
  });

  it("ends a request that gets interim answers without end, and takes a few for nothing", async () => {
    let count = 16;
    const url = await serve((_request, { socket }) => {
      const early = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(count);
      const report = '{"status":"ok","worker":"0x11"}';
      socket?.write(`${early}HTTP/1.1 200 OK\r\ncontent-length: ${report.length}\r\n\r\n${report}`);
    });
    expect(await client(true).probe(url, 20_000)).toMatchObject({ worker: "0x11" });
    count = 17;
    await expect(client(true).probe(url, 20_000)).rejects.toThrow(/interim answers/);
    await expect(dispatch(url)).rejects.toMatchObject({ code: "unreachable", offered: true });
  });

  it("believes no probe that is huge, or of somebody who is no worker", async () => {
    let answer: RequestListener = () => {};
    const url = await serve((request, response) => answer(request, response));
    const probe = () => client(true).probe(url, 20_000);
    answer = (_request, response) => void response.end("x".repeat(1_000_000));
    await expect(probe()).rejects.toThrow(/larger/);
    answer = (_request, response) => void response.end('"ok"');
    await expect(probe()).rejects.toThrow(/no health report/);
    answer = (_request, response) => void response.end('{"status":"ok","worker":"0x11","capacity":-5}');
    expect(await probe()).toEqual({ status: "ok", worker: "0x11", capacity: undefined, demo: false });
  });

  it("takes a worker's probe as its process says it, old versions included", async () => {
    const says = {
      status: "draining",
      worker: `0x${"11".repeat(20)}`,
      models: ["m"],
      abilities: { m: ["reasoning"] },
      demo: true,
      in_flight: 1,
      queued: 2,
      capacity: 3,
      queue_capacity: 5,
      counting: { m: { by: "server", window: 512 } },
      unsettled: 4,
    } as const;
    const own = await serve(createWorkerServer({ health: () => says } as never));
    const { models: _, unsettled: __, ...needed } = says;
    expect(await client(true).probe(own, 60_000)).toEqual(needed);
    const answer = await (await fetch(`${own}/healthz`)).json();
    expect(healthSchema.parse(answer)).toEqual(says);

    const older = await serve((_request, response) =>
      response.end('{"status":"resting","worker":"0x11","queued":"?","abilities":["reasoning"]}'),
    );
    expect(await client(true).probe(older, 60_000)).toEqual({ status: "resting", worker: "0x11", demo: false });
  });

  // The pool forgives a worker one late probe, and knows it by this name.
  const late = { name: "TimeoutError" };

  it.each<[string, RequestListener]>([
    ["nothing", () => {}],
    ["a head without a body", (_request, response) => response.flushHeaders()],
    ["a body that does not end", (_request, response) => void response.write("{")],
  ])("says that a probe is late where %s comes", async (_what, answer) => {
    await expect(client(true).probe(await serve(answer), 500)).rejects.toMatchObject(late);
  });

  it("says that a probe is late where nobody takes the connection", async () => {
    const host = await crowdedHost();
    await expect(client(true).probe(host, 500)).rejects.toMatchObject(late);
  });

  it("does not say that a probe is late where the host refuses the connection", async () => {
    await expect(client(true).probe(`http://127.0.0.1:${await freePort()}`, 60_000)).rejects.toMatchObject({
      name: "Error",
      code: "ECONNREFUSED",
    });
  });

  it("takes no more reasoning than an answer can have text", async () => {
    const piece = (name: string) => event(name, { content: "x".repeat(20_000) });
    const url = await serve((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        // 64 KiB is the least limit, of both together.
        for (const name of ["reasoning", "delta", "reasoning", "delta"]) response.write(piece(name));
      });
    });
    await expect(dispatch(url)).rejects.toMatchObject({ code: "oversized" });
  });

  it.each([
    ["oversized", "comments", `: ${"x".repeat(16_000)}\n\n`],
    ["oversized", "a line without end", "x".repeat(65_536)],
    ["malformed", "what is not JSON", "event: delta\ndata: {content\n\n"],
    ["malformed", "an empty delta", event("delta", { content: "" })],
    ["malformed", "an event of its own invention", event("invoice", { credits: 1_000 })],
    ["malformed", "a number that no message can hold", event("completed", { completion: { completedAt: 2 ** 45 } })],
  ])("takes for %s what comes without end: %s", async (code, _what, piece) => {
    const url = await serve((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        while (!response.destroyed) if (!response.write(piece)) return void response.once("drain", more);
      };
      more();
    });
    await expect(dispatch(url)).rejects.toMatchObject({ code });
  });

  describe("reads the stream of a job", () => {
    const acknowledged = event("acknowledged", { signature: `0x${"55".repeat(65)}` });

    /** What the gateway hears of a stream of these bytes. */
    async function heard(parts: (string | Buffer)[], request: Partial<Dispatch["request"]> = {}) {
      const url = await serve((incoming, response) => {
        incoming.resume().on("end", async () => {
          response.writeHead(200, { "content-type": "text/event-stream" });
          for (const part of parts) if (!response.write(part)) await once(response, "drain");
          response.end();
        });
      });
      const calls: [string, string][] = [];
      const hear = (kind: string) => (text?: string) => void calls.push([kind, text ?? ""]);
      const events = {
        acknowledged: hear("acknowledged"),
        begun: hear("begun"),
        delta: hear("delta"),
        reasoning: hear("reasoning"),
      };
      const asked = { ...offer, request: { ...offer.request, ...request } };
      const running = client(true).dispatch(url, asked, events, AbortSignal.timeout(60_000));
      const outcome = await running.then(
        () => "completed",
        (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
      );
      return { outcome, calls };
    }
    const delta = (content: string) => event("delta", { content });

    it.each<[string, (string | Buffer)[]]>([
      [
        "with events of a proxy that fill silence",
        [": x\n\n", "event: ping\ndata: ping\n\n", "data:\n\n", delta("Hi"), done],
      ],
      ["with CRLF", [(delta("Hi") + done).replaceAll("\n", "\r\n")]],
      ["with a byte order mark", ["\ufeff", delta("Hi"), done]],
      ["without a blank line at the end", [delta("Hi"), done.trimEnd()]],
      ["with more after its end", [delta("Hi"), done, delta("there"), "event: x\ndata: y\n\n"]],
    ])("%s", async (_what, parts) => {
      expect(await heard(parts)).toEqual({ outcome: "completed", calls: [["delta", "Hi"]] });
    });

    it("that is cut anywhere, in a character too", async () => {
      const bytes = Buffer.from(delta("naïve 東京 🌱") + done);
      const { outcome, calls } = await heard([...bytes].map((byte) => Buffer.from([byte])));
      expect([outcome, calls.map(([, text]) => text).join("")]).toEqual(["completed", "naïve 東京 🌱"]);
    });

    it("and hands out pieces that came together as one, in their order", async () => {
      const tiny = [..."abc"].map(delta).join("");
      const thought = [..."xy"].map((content) => event("reasoning", { content })).join("");
      expect(await heard([acknowledged + thought + tiny + done])).toEqual({
        outcome: "completed",
        calls: [
          ["acknowledged", `0x${"55".repeat(65)}`],
          ["reasoning", "xy"],
          ["delta", "abc"],
        ],
      });
    });

    it("with what came before a fault", async () => {
      const { outcome, calls } = await heard([
        delta("Hi") + event("error", { code: "backend_failed", message: "away" }),
      ]);
      expect([outcome, calls]).toEqual(["backend_failed: away", [["delta", "Hi"]]]);
    });

    it.each(["begun", "acknowledged"])("that says `%s` once", async (name) => {
      const once = name === "begun" ? event("begun", {}) : acknowledged;
      expect((await heard([once, delta("Hi"), done])).outcome).toBe("completed");
      const { outcome, calls } = await heard([once.repeat(1_000), delta("Hi"), done]);
      expect(outcome).toBe(`malformed: the worker sent \`${name}\` twice`);
      expect(calls.length).toBe(1);
    });

    it("that has no more pieces than its answer can have characters", async () => {
      const pieces = (count: number) => [delta("ab").repeat(count), done];
      expect((await heard(pieces(4_096))).outcome).toBe("completed");
      expect((await heard(pieces(4_097))).outcome).toBe("oversized: the answer comes in more than 4096 pieces");
      expect((await heard(pieces(4_097), { max_tokens: 1_000 })).outcome).toBe("completed");
    });

    it("whose error is a sentence, of which one line is kept", async () => {
      const error = (message: string) => [event("error", { code: "backend_failed", message })];
      expect((await heard(error("boom\n\u2028!"))).outcome).toBe("backend_failed: boom\\u000a\\u2028!");
      expect((await heard(error("x".repeat(1_000)))).outcome).toBe(`backend_failed: ${"x".repeat(199)}…`);
      expect((await heard(error("x".repeat(8_000_000)))).outcome).toBe(
        "malformed: the worker sent an event with wrong fields: message",
      );
    });
  });

  it.each([
    ["resets", (request: IncomingMessage) => request.socket.resetAndDestroy()],
    ["closes", (request: IncomingMessage) => request.socket.destroy()],
  ])("asks once more on a new connection where the other side %s an idle one", async (_what, drop) => {
    const served = new WeakSet<object>();
    let drops = 0;
    const url = await serve((request, response) => {
      if (served.has(request.socket)) {
        drops += 1;
        return void drop(request);
      }
      served.add(request.socket);
      request.resume();
      response.end('{"status":"ok","worker":"0x11"}');
    });
    const same = client(true);
    for (let i = 0; i < 4; i++) expect(await same.probe(url, 60_000)).toMatchObject({ status: "ok" });
    expect(drops).toBeGreaterThan(0);
  });

  it("knows a job that its worker took by the first of two sendings as offered", async () => {
    let sent = 0;
    const url = await serve((request, response) => {
      request.resume().on("end", () => {
        sent += 1;
        if (sent === 1) return void request.socket.destroy();
        response.writeHead(409).end(JSON.stringify({ error: { code: "already_taken", message: "took it before" } }));
      });
    });
    await expect(dispatch(url)).rejects.toMatchObject({ code: "broken_stream", offered: true });
    // Without a first sending it is what the worker says.
    await expect(dispatch(url)).rejects.toMatchObject({ code: "already_taken", offered: false });
    expect(sent).toBe(3);
  });

  it("uses a connection again after a job, as the next one may come soon", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(done);
      });
    });
    const same = client(true);
    for (let i = 0; i < 3; i++) {
      const nothing = { acknowledged() {}, begun() {}, delta() {}, reasoning() {} };
      await same.dispatch(url, offer, nothing, AbortSignal.timeout(60_000));
      // The end of the answer arrives, and the connection is free again: both ends are in this process.
      for (let turn = 0; turn < 20; turn++) await setImmediate();
    }
    expect(ports.size).toBe(1);
  });
});
