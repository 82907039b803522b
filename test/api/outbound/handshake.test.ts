/** TLS to receivers of webhooks and to workers, against real servers on loopback whose certificates are trusted here. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { request } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { guardedAgent, guardedClient } from "../../../api/outbound/endpoint.ts";
import { attempt } from "../../../webhooks/attempt.ts";
import { makeCertificate } from "../../support/certificate.ts";

/** A receiver with such a certificate, and attempts of deliveries to it. */
async function receiver(comment = 0, isTrusted = true) {
  const certificate = makeCertificate(comment);
  if (isTrusted) {
    const before = getCACertificates("default");
    setDefaultCACertificates([...before, certificate.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
  }
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
  const client = guardedClient({ allowLocal: true });
  onTestFinished(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const send = (body: string) => attempt({ url, secret: "s".repeat(16), body, timeoutMs: 5_000 }, client);
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

it("delivers nothing to a server whose certificate nobody signed, or that is not there", async () => {
  const { send, bodies } = await receiver(0, false);
  expect(await send("{}")).toMatchObject({ result: "connection", error: expect.stringMatching(/self-signed|verify/) });
  expect(bodies).toEqual([]);
  const client = guardedClient({ allowLocal: true });
  onTestFinished(() => client.destroy());
  const message = { url: "https://127.0.0.1:1/hook", secret: "s".repeat(16), body: "{}", timeoutMs: 5_000 };
  const outcome = await attempt(message, client);
  expect(outcome).toMatchObject({ result: "connection", error: "the connection was refused" });
});

it("asks a worker with a trusted certificate, again over the same connection, and reads its long answer", async () => {
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
