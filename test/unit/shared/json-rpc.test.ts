import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it } from "vitest";
import { BatchRefused, JsonRpc, RpcError, RpcLimited, RpcUnreachable } from "../../../shared/json-rpc.ts";
import { serve } from "../support/serve.ts";

type Call = { id: number; method: string; params: unknown[] };

let server: Server;
let url: string;
let rpc: JsonRpc;
/** What the node answers to a body; a string goes out as it is. */
let answer: (body: Call | Call[]) => unknown = () => null;

beforeEach(async () => {
  server = createServer(async (request, response) => {
    const reply = answer(JSON.parse(await text(request)));
    if (reply !== undefined) response.end(typeof reply === "string" ? reply : JSON.stringify(reply));
  });
  url = await serve(server);
  rpc = new JsonRpc(url);
});

const CALLS = [
  { method: "eth_call", params: [1] },
  { method: "eth_blockNumber", params: [] },
];

it("a reply without an end is cut", async () => {
  let written: number | undefined;
  server.removeAllListeners("request").on("request", (request, response) => {
    request.resume();
    let sent = 0;
    const more = () => {
      while (!response.destroyed && sent < 200 && response.write(" ".repeat(1024 * 1024))) sent += 1;
      sent += 1;
    };
    response.on("drain", more).on("close", () => {
      written = sent;
    });
    more();
  });
  await expect(rpc.request("eth_blockNumber", [], 60_000)).rejects.toThrow(/larger than 10485760 bytes/);
  await expect.poll(() => written).toBeLessThan(100);
  await expect(rpc.request("eth_getTransactionReceipt", [], 60_000, 1024)).rejects.toThrow(/larger than/);
});

describe("a host that takes no connection", () => {
  it("holds the caller no longer than the timeout", async () => {
    // Stopped, with a queue for two connections: the kernel drops all others, as a partition does.
    const code = `require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {
      process.send(this.address().port);
    })`;
    const host = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    const [port] = (await once(host, "message")) as [number];
    host.kill("SIGSTOP");
    const queue = Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => {}));
    try {
      await once(queue[0] as Socket, "connect");
      const begun = performance.now();
      const asked = new JsonRpc(`http://127.0.0.1:${port}`).request("eth_blockNumber", [], 500);
      await expect(asked).rejects.toThrow(RpcUnreachable);
      expect(performance.now() - begun).toBeLessThan(5_000);
    } finally {
      for (const socket of queue) socket.destroy();
      host.kill("SIGKILL");
    }
  });
});

describe("a call", () => {
  it("returns the result", async () => {
    answer = (body) => ({ id: (body as Call).id, result: [(body as Call).method, (body as Call).params] });
    expect(await rpc.request("eth_call", [1, "latest"])).toEqual(["eth_call", [1, "latest"]]);
  });

  it("returns null as a result: there is no such receipt", async () => {
    answer = (body) => ({ id: (body as Call).id, result: null });
    expect(await rpc.request("eth_getTransactionReceipt", ["0x1"])).toBeNull();
  });

  it("that the node refuses says why, with code and data", async () => {
    answer = () => ({ error: { code: 3, message: "execution reverted", data: "0x1234" } });
    const failure = await rpc.request("eth_call", []).catch((error) => error);
    expect(failure).toBeInstanceOf(RpcError);
    expect(failure).toMatchObject({ code: 3, data: "0x1234", message: "eth_call: execution reverted (3)" });
  });

  it.each([
    ["what is no JSON", () => "<html>Bad Gateway</html>"],
    ["nothing", () => "null"],
    ["a proxy's own words", () => ({ message: "Too Many Requests" })],
  ])("answered with %s has no outcome", async (_, reply) => {
    answer = reply;
    await expect(rpc.request("eth_call", [])).rejects.toBeInstanceOf(RpcUnreachable);
  });

  it("that is too many says so, whatever error is in the answer", async () => {
    server.removeAllListeners("request").on("request", (_, response) => {
      response.writeHead(429).end(JSON.stringify({ id: 1, error: { code: -32_005, message: "Too Many Requests" } }));
    });
    await expect(rpc.request("eth_call", [])).rejects.toBeInstanceOf(RpcLimited);
  });

  it("that fails as Nethermind says it has its data as others have", async () => {
    answer = () => ({ error: { code: -32_015, message: "VM execution error.", data: "Reverted 0x1234" } });
    await expect(rpc.request("eth_call", [])).rejects.toMatchObject({ data: "0x1234" });
  });

  it("without an answer in its time has no outcome", async () => {
    answer = () => undefined;
    await expect(rpc.request("eth_call", [], 50)).rejects.toBeInstanceOf(RpcUnreachable);
  });

  it("to a node that is not there has no outcome", async () => {
    server.close();
    await expect(new JsonRpc(url).request("eth_call", [])).rejects.toBeInstanceOf(RpcUnreachable);
  });
});

describe("a batch", () => {
  it("returns results in the order of the calls", async () => {
    answer = (body) => (body as Call[]).map(({ id, method }) => ({ id, result: method })).toReversed();
    expect(await rpc.answers(CALLS)).toEqual([{ result: "eth_call" }, { result: "eth_blockNumber" }]);
  });

  it("in which one call is refused says which", async () => {
    answer = (body) =>
      (body as Call[]).map(({ id, method }) =>
        method === "eth_call" ? { id, result: "0x" } : { id, error: { code: -32_005, message: "too many" } },
      );
    const [call, blockNumber] = await rpc.answers(CALLS);
    expect(call).toEqual({ result: "0x" });
    expect(blockNumber).toMatchObject({ error: { message: "eth_blockNumber: too many (-32005)" } });
  });

  it.each([
    ["one error", { error: { code: -32_600, message: "batches are not supported" } }],
    ["a list with one error, as geth", [{ id: null, error: { code: -32_600, message: "batch too large" } }]],
  ])("to a node that takes none, which says so with %s, is refused as a whole", async (_, reply) => {
    answer = () => reply;
    await expect(rpc.answers(CALLS)).rejects.toBeInstanceOf(BatchRefused);
  });

  it("with an answer left out has no outcome", async () => {
    answer = (body) => [{ id: (body as Call[])[0]?.id, result: "0x" }];
    await expect(rpc.answers(CALLS)).rejects.toBeInstanceOf(RpcUnreachable);
  });
});
