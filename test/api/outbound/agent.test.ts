/** The dispatcher for untrusted endpoints, against a real server on loopback. Names are resolved by the test. */
import type { LookupAddress } from "node:dns";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dispatcher, request } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { guardedAgent } from "../../../api/outbound/endpoint.ts";
import { BodyTooLarge, readBounded, readStart } from "../../../shared/bounded-body.ts";

let server: Server;
let port: number;
/** Connections the server saw: a refused endpoint must not even be connected to. */
let connections = 0;
let asked: string[] = [];
let agents: Dispatcher[] = [];
let answers: LookupAddress[][] = [];
let resolved: string[] = [];

beforeAll(async () => {
  server = createServer((incoming, response) => {
    asked.push(incoming.url ?? "");
    if (incoming.url === "/redirect") return void response.writeHead(302, { location: "/elsewhere" }).end();
    if (incoming.url === "/endless") {
      const timer = setInterval(() => response.write("x".repeat(10_000)), 1);
      return void response.on("close", () => clearInterval(timer));
    }
    response.setHeader("connection", incoming.url === "/close" ? "close" : "keep-alive").end("hello");
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  [connections, asked, agents, answers, resolved] = [0, [], [], [], []];
});
afterEach(() => Promise.all(agents.map((agent) => agent.destroy())));

const four = (address: string): LookupAddress => ({ address, family: 4 });
const six = (address: string): LookupAddress => ({ address, family: 6 });

/** An agent whose names resolve to `answers`, one entry a question, the last one repeated. */
function agent(allowLocal: boolean): Dispatcher {
  const made = guardedAgent({
    allowLocal,
    resolve: async (host) => {
      resolved.push(host);
      return answers[Math.min(resolved.length, answers.length) - 1] as LookupAddress[];
    },
  });
  agents.push(made);
  return made;
}

const ask = (dispatcher: Dispatcher, url: string) => request(url, { dispatcher });
const refusal = { code: "ENDPOINT_REFUSED" };

describe("in production", () => {
  it.each([
    ["a literal loopback address", "127.0.0.1"],
    ["a literal IPv6 address that means loopback", "[::ffff:127.0.0.1]"],
    ["a decimal host", "2130706433"],
  ])("%s is refused and never connected to", async (_name, host) => {
    await expect(ask(agent(false), `https://${host}:${port}/`)).rejects.toMatchObject(refusal);
    expect(connections).toBe(0);
  });

  it.each([
    ["leads to loopback", [four("127.0.0.1")]],
    ["leads to a public and a private address", [four("8.8.8.8"), four("10.0.0.1")]],
    ["leads to a public IPv4 and a private IPv6 address", [four("8.8.8.8"), six("fd00::1")]],
  ])("a name that %s is refused and never connected to", async (_name, addresses) => {
    answers = [addresses];
    await expect(ask(agent(false), `https://hook.example:${port}/`)).rejects.toMatchObject(refusal);
    expect(resolved).toEqual(["hook.example"]);
    expect(connections).toBe(0);
  });

  it("plain HTTP is refused", async () => {
    answers = [[four("8.8.8.8")]];
    await expect(ask(agent(false), "http://hook.example/")).rejects.toThrow(/https/);
    expect(resolved).toEqual([]);
  });
});

describe("in development", () => {
  it("loopback and plain HTTP work, by address and by name", async () => {
    answers = [[four("127.0.0.1")]];
    for (const host of ["127.0.0.1", "hook.localhost"]) {
      const { statusCode, body } = await ask(agent(true), `http://${host}:${port}/`);
      expect([statusCode, await body.text()]).toEqual([200, "hello"]);
    }
  });

  it("localhost works with the resolver of the service", async () => {
    const dispatcher = guardedAgent({ allowLocal: true });
    agents.push(dispatcher);
    const { body } = await ask(dispatcher, `http://localhost:${port}/`);
    expect(await body.text()).toBe("hello");
  });

  it("plain HTTP to another machine is refused, also when its name leads to this one", async () => {
    answers = [[four("127.0.0.1")]];
    for (const host of ["8.8.8.8", "hook.example"]) {
      await expect(ask(agent(true), `http://${host}:${port}/`)).rejects.toThrow(/must be an https URL/);
    }
    expect([resolved, connections]).toEqual([[], 0]);
  });

  it("a private network is still refused", async () => {
    answers = [[four("127.0.0.1"), four("192.168.0.1")]];
    await expect(ask(agent(true), `http://hook.localhost:${port}/`)).rejects.toMatchObject(refusal);
    expect(connections).toBe(0);
  });
});

describe("a name that changes its answer (rebinding)", () => {
  it("is asked once a connection: what was checked is what is connected to", async () => {
    answers = [[four("127.0.0.1")], [four("10.0.0.1")]];
    const { body } = await ask(agent(true), `http://hook.localhost:${port}/`);
    expect(await body.text()).toBe("hello");
    expect(resolved).toHaveLength(1);
    expect(connections).toBe(1);
  });

  it("is checked again for each new connection", async () => {
    answers = [[four("127.0.0.1")], [four("10.0.0.1")]];
    const dispatcher = agent(true);
    const { body } = await ask(dispatcher, `http://hook.localhost:${port}/close`);
    await body.text();
    await expect(ask(dispatcher, `http://hook.localhost:${port}/`)).rejects.toMatchObject(refusal);
    expect(connections).toBe(1);
  });
});

describe("what an endpoint answers", () => {
  it("a redirect is an answer, not a way", async () => {
    const { statusCode, body } = await ask(agent(true), `http://127.0.0.1:${port}/redirect`);
    await body.dump();
    expect(statusCode).toBe(302);
    expect(asked).toEqual(["/redirect"]);
  });

  it("an endless body is cut", async () => {
    const dispatcher = agent(true);
    const url = `http://127.0.0.1:${port}/endless`;
    const bytes = await readStart((await ask(dispatcher, url)).body, 1_000);
    expect(bytes.toString()).toBe("x".repeat(1_000));
    await expect(readBounded((await ask(dispatcher, url)).body, 1_000)).rejects.toThrow(BodyTooLarge);
  });

  it("a short body is whole", async () => {
    const { body } = await ask(agent(true), `http://127.0.0.1:${port}/`);
    expect((await readBounded(body, 5)).toString()).toBe("hello");
  });
});
