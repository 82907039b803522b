import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { WorkerClient } from "../../../api/jobs/dispatch-client.ts";
import type { Dispatch } from "../../../protocol/dispatch.ts";
import { healthSchema } from "../../../protocol/worker-health.ts";
import { createServer as createWorkerServer } from "../../../worker/server.ts";

const servers: Server[] = [];
const clients: WorkerClient[] = [];
afterEach(async () => {
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
const dispatch = (endpoint: string, allowLocal = true) =>
  client(allowLocal).dispatch(endpoint, offer, { acknowledged() {}, delta() {} }, AbortSignal.timeout(60_000));

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

  it("takes an honest refusal for what it is, and anything else for an unknown outcome", async () => {
    let body = JSON.stringify({ error: { code: "busy", message: "full" } });
    const url = await serve((_request, response) => void response.writeHead(503).end(body));
    await expect(dispatch(url)).rejects.toMatchObject({ code: "busy", offered: false });
    body = "<html>503</html>";
    await expect(dispatch(url)).rejects.toMatchObject({ code: "refused", offered: true });
    body = "x".repeat(1_000_000);
    await expect(dispatch(url)).rejects.toMatchObject({ code: "refused", offered: true });
  });

  it("believes no probe that is huge, endless, or of somebody who is no worker", async () => {
    let answer: RequestListener = () => {};
    const url = await serve((request, response) => answer(request, response));
    const probe = (ms = 20_000) => client(true).probe(url, ms);
    answer = (_request, response) => void response.end("x".repeat(1_000_000));
    await expect(probe()).rejects.toThrow(/larger/);
    answer = (_request, response) => void response.write("{");
    await expect(probe(500)).rejects.toThrow(/timeout|aborted/i);
    answer = (_request, response) => void response.end('"ok"');
    await expect(probe()).rejects.toThrow(/no health report/);
    answer = (_request, response) => void response.end('{"status":"ok","worker":"0x11","capacity":-5}');
    expect(await probe()).toEqual({ status: "ok", worker: "0x11", capacity: undefined });
  });

  it("takes the probe of a worker for what its own process says, and of one of another version what it needs", async () => {
    const says = {
      status: "draining",
      worker: `0x${"11".repeat(20)}`,
      models: ["m"],
      in_flight: 1,
      queued: 2,
      capacity: 3,
      unsettled: 4,
    } as const;
    const own = await serve(createWorkerServer({ health: () => says } as never));
    expect(await client(true).probe(own, 60_000)).toEqual({ status: "draining", worker: says.worker, capacity: 3 });
    const answer = await (await fetch(`${own}/healthz`)).json();
    expect(healthSchema.parse(answer)).toEqual(says);

    const older = await serve((_request, response) =>
      response.end('{"status":"resting","worker":"0x11","queued":"?"}'),
    );
    expect(await client(true).probe(older, 60_000)).toEqual({ status: "resting", worker: "0x11" });
  });

  it("uses a connection again after a job, as the next one may come soon", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on("end", () => {
        const completion = {
          jobId: offer.assignment.jobId,
          proofHash: `0x${"33".repeat(32)}`,
          promptTokens: 1,
          completionTokens: 1,
          completedAt: 1,
        };
        const done = { completion, signature: `0x${"44".repeat(65)}`, finish_reason: "stop" };
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`event: completed\ndata: ${JSON.stringify(done)}\n\n`);
        response.end();
      });
    });
    const same = client(true);
    for (let i = 0; i < 3; i++) {
      await same.dispatch(url, offer, { acknowledged() {}, delta() {} }, AbortSignal.timeout(60_000));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(ports.size).toBe(1);
  });
});
