import { code, h4, p } from "../blocks.ts";
import { escapeHtml, html } from "../page.ts";
import { fields, item, type Schema, type Schemas } from "./schema.ts";

type Content = Record<string, { schema: Schema }>;
type Answer = { description: string; headers?: Record<string, { $ref: string }>; content?: Content };
export type Parameter = {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: Schema;
  example?: string;
};
export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }> };
  responses: Record<string, Answer>;
};
export type Reference = { schemas: Schemas; headers: Record<string, Schema & { schema: Schema }>; baseUrl: string };

const schemaName = (schema: Schema) => schema.$ref?.split("/").at(-1) ?? "";

/** One operation: what it takes, what it answers, how it refuses. */
export function operation(method: string, path: string, op: Operation, reference: Reference): string {
  return [
    `<section id="${op.operationId}"><h3><a class="here" href="#${op.operationId}">${html(op.summary)}</a></h3>`,
    `<p class="route"><span class="method ${method}">${method.toUpperCase()}</span><code>${escapeHtml(path)}</code></p>`,
    op.description ? p(op.description) : "",
    code("curl", curl(method, path, op, reference.baseUrl)),
    ...parameters(op, reference.schemas),
    ...body(op, reference.schemas),
    ...answers(op, reference),
    "</section>",
  ].join("\n");
}

function curl(method: string, path: string, op: Operation, baseUrl: string): string {
  const values = Object.fromEntries((op.parameters ?? []).map(({ name, example }) => [name, example ?? `<${name}>`]));
  const url = baseUrl + path.replace(/\{(\w+)\}/g, (_all, name: string) => values[name] as string);
  const request = method === "get" ? "" : `-X ${method.toUpperCase()} `;
  const head = `curl ${request}${url} \\\n  -H "Authorization: Bearer $SERVICE_API_KEY"`;
  const json = op.requestBody?.content["application/json"];
  if (json === undefined) return head;
  const value = Object.values(json.examples ?? {})[0]?.value;
  return `${head} \\\n  -H "Content-Type: application/json" \\\n  -d '${value === undefined ? "{…}" : JSON.stringify(value)}'`;
}

function parameters({ parameters: all = [] }: Operation, schemas: Schemas): string[] {
  const groups = { path: "Path", query: "Query", header: "Request headers" };
  return Object.entries(groups).flatMap(([place, title]) => {
    const these = all.filter((parameter) => parameter.in === place);
    const items = these.map(({ name, schema, description, required }) =>
      item(name, { ...schema, description }, schemas, required ? '<span class="required">required</span>' : ""),
    );
    return items.length === 0 ? [] : [h4(title), `<ul class="fields">${items.join("")}</ul>`];
  });
}

function body({ requestBody }: Operation, schemas: Schemas): string[] {
  const schema = requestBody?.content["application/json"]?.schema;
  return schema === undefined ? [] : [h4("Body"), fields(schema, schemas)];
}

function answers(op: Operation, { schemas, headers }: Reference): string[] {
  const entries = Object.entries(op.responses);
  const good = entries.filter(([status]) => status.startsWith("2"));
  const bad = entries.filter(([status]) => !status.startsWith("2"));
  const shown = good.flatMap(([status, answer]) => {
    const contents = Object.entries(answer.content ?? {}).map(([type, { schema }]) => {
      const inner = type === "text/event-stream" ? (schema as { contentSchema: Schema }).contentSchema : schema;
      return `<details${type === "application/json" ? " open" : ""}><summary>${escapeHtml(schemaName(inner))} as <code>${type}</code></summary>${fields(inner, schemas)}</details>`;
    });
    const names = Object.values(answer.headers ?? {}).map(({ $ref }) => $ref.split("/").at(-1) as string);
    const items = names.map((name) => {
      const { description, schema } = headers[name] as Schema & { schema: Schema };
      return item(name, { ...schema, examples: [], description: description ?? "" }, schemas);
    });
    const headerList = `<details><summary>Response headers</summary><ul class="fields">${items.join("")}</ul></details>`;
    return [h4(`Answer ${status}`), p(answer.description), ...contents, headerList];
  });
  const errors = bad.map(([status, { description }]) => {
    const codes = [...description.matchAll(/^`(\w+)`:/gm)].map(
      ([, each]) => `<a href="/docs/errors#${each}"><code>${each}</code></a>`,
    );
    return `<tr><td>${status}</td><td>${codes.join(", ")}</td></tr>`;
  });
  const table = `<div class="scroll"><table><thead><tr><th>Status</th><th>Codes</th></tr></thead><tbody>${errors.join("")}</tbody></table></div>`;
  return [...shown, `<details><summary>Errors</summary>${table}</details>`];
}
