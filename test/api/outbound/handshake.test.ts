/** TLS to receivers of webhooks, against real servers on loopback whose certificates are trusted here. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { guardedClient } from "../../../api/outbound/endpoint.ts";
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
  return { send, bodies };
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
