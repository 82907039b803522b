/** A collector that refuses: the process goes on and ends as it does without one. */
import { context, diag, propagation, trace } from "@opentelemetry/api";
import { afterEach, expect, it, vi } from "vitest";
import { inSpan, startTracing } from "../../../shared/tracing.ts";
import { serve } from "../support/serve.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  for (const api of [trace, context, propagation, diag]) api.disable();
});

it("warns without the collector's key, and lets the process end in order", async () => {
  const collector = await serve((request, response) => {
    response.writeHead(401).end(`not with ${request.headers["x-key"]}`);
  });
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.replace("//", "//anna:secret-of-anna@"));
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=key-of-the-collector");
  const warnings: string[] = [];
  const sendSpans = await startTracing("gateway", process.env, { warn: (message) => warnings.push(message) });
  await inSpan("request", {}, async () => {});
  await sendSpans();
  expect(warnings.join("\n")).toContain("OpenTelemetry");
  expect(warnings.join("\n")).not.toMatch(/key-of-the-collector|secret-of-anna/);
});
