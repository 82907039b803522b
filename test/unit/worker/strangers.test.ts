/** What strangers who find a worker's port leave in its log, and what they cannot take up. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { createServer, listen as listenAt } from "../../../worker/server.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A worker, and what it logs. */
async function listen(isDraining = false) {
  const lines: { code: string; unlogged?: number }[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const server = createHttpServer(createServer({ runner: { isDraining }, log, health: () => ({}) } as never));
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const ask = (path: string, body = "{}") =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body }).then(({ status }) => status);
  return { ask, lines };
}

it("one line a second, with the number of those that are not logged", async () => {
  const { ask, lines } = await listen();
  for (let n = 0; n < 20; n++) expect(await ask("/jobs")).toBe(400);
  expect(lines).toMatchObject([{ code: "bad_request", msg: "refused" }]);
  vi.advanceTimersByTime(1_000);
  await ask("/jobs/output", "no JSON");
  expect(lines.map(({ unlogged }) => unlogged)).toEqual([undefined, 19]);
});

it("a worker that stops logs no more of them", async () => {
  const { ask, lines } = await listen(true);
  for (let n = 0; n < 20; n++) expect(await ask("/jobs")).toBe(503);
  expect(lines).toMatchObject([{ code: "draining", msg: "refused" }]);
});

it("a connection with a thousand requests under way is closed", async () => {
  const served = vi.fn();
  const server = await listenAt(served as never, { port: 0, host: "127.0.0.1" });
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000));
  await once(socket, "close");
  expect(served.mock.calls.length).toBeLessThan(20);
});
