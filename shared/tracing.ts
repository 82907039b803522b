/**
 * Traces by OpenTelemetry. The place of a request in its caller's trace (W3C `traceparent`) goes on to each service that is called for it, also where
 * nothing is exported. A span has ids, addresses and the kinds of errors in it, and never a text of a client, a worker or a model server.
 */
import type { IncomingHttpHeaders } from "node:http";
import {
  type Attributes,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { redactor, secretsOfUrl } from "./redact.ts";

const tracer = trace.getTracer("credit-metered-inference");

/** Takes what goes wrong with the export. */
type Log = { warn: (message: string) => void };

/**
 * Hands places in traces on from now on, and exports spans if `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set
 * (docs/operations/settings.md). Nothing of the exporter is loaded otherwise. Returns what sends the last spans; it never rejects.
 */
export async function startTracing(service: string, env: NodeJS.ProcessEnv, log: Log): Promise<() => Promise<void>> {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const urls = [env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], env["OTEL_EXPORTER_OTLP_ENDPOINT"]];
  if (urls.every((url) => !url) || env["OTEL_SDK_DISABLED"] === "true") return async () => {};
  const [sdk, { OTLPTraceExporter }, { detectResources, resourceFromAttributes, envDetector }] = await Promise.all([
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const headers = [env["OTEL_EXPORTER_OTLP_HEADERS"], env["OTEL_EXPORTER_OTLP_TRACES_HEADERS"]];
  const redact = redactor([
    ...headers.flatMap((list) => list?.split(/[=,]/) ?? []).map((part) => [part.trim(), "header"] as const),
    ...urls.flatMap((url) => secretsOfUrl(url, "endpoint")),
  ]);
  const warn = (message: string): void => log.warn(redact(`OpenTelemetry: ${message}`));
  const ignore = (): void => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ "service.name": service }).merge(detectResources({ detectors: [envDetector] })),
    sampler: new sdk.ParentBasedSampler({
      root: new sdk.TraceIdRatioBasedSampler(Number(env["OTEL_TRACES_SAMPLER_ARG"] ?? 1)),
    }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  trace.setGlobalTracerProvider(provider);
  return () => provider.shutdown().catch((error: Error) => warn(`the last spans were not sent: ${error.message}`));
}

/** Runs `act` as a span of the caller whom the headers name. `act` ends the span. */
export function continueTrace<T>(
  headers: IncomingHttpHeaders,
  name: string,
  options: SpanOptions,
  act: (span: Span) => T,
): T {
  const caller = propagation.extract(ROOT_CONTEXT, headers);
  const span = tracer.startSpan(name, options, caller);
  return context.with(trace.setSpan(caller, span), act, undefined, span);
}

/** Headers that name a span, by default the one that runs now, for a service that is called. */
export function traceHeaders(span?: Span): Record<string, string> {
  const headers: Record<string, string> = {};
  const active = context.active();
  propagation.inject(span === undefined ? active : trace.setSpan(active, span), headers);
  return headers;
}

/** Starts a span below the one that runs now; the caller ends it. */
export const startSpan = (name: string, options: SpanOptions): Span => tracer.startSpan(name, options);

/** Runs `act` as a span below the one that runs now. */
export function inSpan<T>(name: string, options: SpanOptions, act: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, options, (span) => endAfter(span, act));
}

/** Ends the span with `act`, whose error it names. */
export async function endAfter<T>(span: Span, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    markFailed(kindOf(error), span);
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span, by default the one that runs now, as failed. `kind`: a word of ours, as `error.type` wants it. */
export function markFailed(kind: string, span = trace.getActiveSpan()): void {
  span?.setAttribute("error.type", kind).setStatus({ code: SpanStatusCode.ERROR });
}

/** Says more of the span that runs now. */
export const describeSpan = (attributes: Attributes): unknown => trace.getActiveSpan()?.setAttributes(attributes);

/** Notes a moment in the span that runs now. */
export const spanEvent = (name: string): unknown => trace.getActiveSpan()?.addEvent(name);

/** The kind of an error. Its message may quote what it must not. */
export function kindOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return String(typeof code === "string" ? code : (name ?? "unknown"));
}
