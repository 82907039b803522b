/** The OpenAPI document that the routes give: valid in the eyes of somebody else's linter, and complete. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../../../api/errors.ts";
import { openApiDocument } from "../../../../api/routes/openapi/document.ts";
import { EVENT_NAMES } from "../../../../webhooks/events.ts";

const text = JSON.stringify(openApiDocument("http://127.0.0.1:4000"));
const document = JSON.parse(text);

describe("/openapi.json", () => {
  it("is valid OpenAPI 3.1 without a warning of Redocly's strict rules", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] });
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
    expect(document.openapi).toBe("3.1.0");
  });

  it("has the ranges that requests are checked against", () => {
    const { properties } = document.components.schemas.ChatCompletionRequest;
    expect(properties.temperature).toMatchObject({ type: ["number", "null"], minimum: 0, maximum: 2 });
    expect(properties.frequency_penalty).toMatchObject({ minimum: -2, maximum: 2 });
    expect(properties.presence_penalty).toMatchObject({ minimum: -2, maximum: 2 });
    expect(properties.max_tokens).toMatchObject({ type: ["integer", "null"], minimum: 1 });
    expect(properties.messages.items.properties.role.enum).toEqual(["system", "user", "assistant"]);
    const [limit] = document.paths["/v1/jobs"].get.parameters;
    expect(limit.schema).toMatchObject({ type: "integer", minimum: 1, maximum: 100, default: 20 });
  });

  it("has every path below /v1", () => {
    for (const path of Object.keys(document.paths)) expect(path).toMatch(/^\/v1\//);
  });

  it("has no operation that moves credits or makes keys", () => {
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((operations) =>
      Object.values(operations).map(({ operationId }) => operationId),
    );
    expect(ids.toSorted()).toEqual(
      [
        ...[
          "createChatCompletion",
          "createWebhook",
          "deleteWebhook",
          "disputeJob",
          "getAccount",
          "getJob",
          "getJobOutput",
        ],
        ...["getModel", "listJobs", "listModels", "listWebhooks"],
      ].toSorted(),
    );
  });

  it("names every error code, with an example, and every event", () => {
    const { Error: schema } = document.components.schemas;
    for (const code of ERROR_CODES) expect(JSON.stringify(schema)).toContain(`"${code}"`);
    for (const code of ERROR_CODES.filter((each) => each !== "route_not_found")) {
      expect(document.components.examples[code].value.error.code).toBe(code);
    }
    expect(Object.keys(document.webhooks)).toEqual([...EVENT_NAMES]);
  });

  it("says for every operation which errors it has, and which headers come with them", () => {
    for (const [path, operations] of Object.entries<Record<string, { responses: Record<string, unknown> }>>(
      document.paths,
    )) {
      for (const [method, { responses }] of Object.entries(operations)) {
        expect(Object.keys(responses), `${method} ${path}`).toEqual(
          expect.arrayContaining(["400", "401", "403", "429", "500"]),
        );
        expect(JSON.stringify(responses), `${method} ${path}`).toContain("x-service-credits-remaining");
      }
    }
  });
});
