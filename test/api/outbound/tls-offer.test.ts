/** What our side offers in a TLS handshake to endpoints that somebody else names: nothing whose cost the peer chooses. */
import { createServer } from "node:net";
import { request } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { guardedAgent, guardedClient } from "../../../api/outbound/endpoint.ts";

/** The cipher suites and the groups of a ClientHello (RFC 8446, section 4.1.2). */
function offered(record: Buffer): { suites: number[]; groups: number[] } {
  const numbers = (bytes: Buffer) => Array.from({ length: bytes.length / 2 }, (_, n) => bytes.readUInt16BE(2 * n));
  // Record header, message header, version and random.
  let at = 5 + 4 + 2 + 32;
  const block = (lengthBytes: number) => {
    const length = record.readUIntBE(at, lengthBytes);
    at += lengthBytes + length;
    return record.subarray(at - length, at);
  };
  block(1); // session id
  const suites = numbers(block(2));
  block(1); // compression methods
  at += 2; // length of all extensions
  while (at < record.length) {
    const type = record.readUInt16BE(at);
    at += 2;
    const extension = block(2);
    if (type === 10) return { suites, groups: numbers(extension.subarray(2)) };
  }
  throw new Error("no supported groups");
}

const policy = { allowLocal: true };
it.each<[string, (url: string) => Promise<unknown>]>([
  [
    "receivers of webhooks",
    (url) => {
      const client = guardedClient(policy);
      onTestFinished(() => client.destroy());
      return client.post(url, {
        headers: {},
        body: "{}",
        signal: AbortSignal.timeout(5_000),
        owner: "",
        onWait: () => {},
      });
    },
  ],
  ["workers", (url) => request(url, { dispatcher: guardedAgent(policy) })],
])("offers %s key exchanges of a fixed size alone", async (_, send) => {
  const hello = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => {
    const pieces: Buffer[] = [];
    socket.on("error", () => {});
    socket.on("data", (piece: Buffer) => {
      pieces.push(piece);
      const record = Buffer.concat(pieces);
      if (record.length < 5 || record.length < 5 + record.readUInt16BE(3)) return;
      hello.resolve(record);
      socket.destroy();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  await expect(send(`https://127.0.0.1:${port}/hook`)).rejects.toThrow();
  const { suites, groups } = offered(await hello.promise);
  // TLS 1.3, ECDHE with AES or ChaCha20, and the mark of secure renegotiation. Not DHE (0x009e, 0x0033, 0xccaa …).
  const isFixed = (suite: number) =>
    suite >> 8 === 0x13 || suite >> 8 === 0xc0 || [0xcca8, 0xcca9, 0x00ff].includes(suite);
  expect(suites.filter((suite) => !isFixed(suite)).map((suite) => suite.toString(16))).toEqual([]);
  expect(suites).toContain(0x1301);
  expect(suites).toContain(0xc02f);
  // X25519, P-256, P-384, P-521. Not ffdhe2048 to ffdhe8192 (0x0100 …).
  expect(groups).toEqual([29, 23, 24, 25]);
});
