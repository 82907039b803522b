/** A collector that refuses: the process goes on and ends as it does without one. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { context, diag, propagation, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inSpan, startTracing } from "../../shared/tracing.ts";

let collector: Server;
beforeEach(async () => {
  collector = createServer((request, response) => {
    response.writeHead(401).end(`not with ${request.headers["x-key"]}`);
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
});
afterEach(() => {
  collector.close();
  vi.unstubAllEnvs();
  for (const api of [trace, context, propagation, diag]) api.disable();
});

it("warns without the collector's key, and lets the process end in order", async () => {
  const { port } = collector.address() as AddressInfo;
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://anna:secret-of-anna@127.0.0.1:${port}`);
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=key-of-the-collector");
  const warnings: string[] = [];
  const sendSpans = await startTracing("gateway", process.env, { warn: (message) => warnings.push(message) });
  await inSpan("request", {}, async () => {});
  await sendSpans();
  expect(warnings.join("\n")).toContain("OpenTelemetry");
  expect(warnings.join("\n")).not.toMatch(/key-of-the-collector|secret-of-anna/);
});
