/** `/docs/reference`: the OpenAPI document as a page. Operations keep the addresses that clients may have linked: `#tag/<tag>/operation/<id>`. */
import type { createDocument } from "zod-openapi";
import { codeBlock, escapeHtml, inline, markdown, type Page, type Section, tabs } from "./pages.ts";

/** The parts of OpenAPI and JSON Schema that our own document uses. */
type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};
type Content = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, { value?: unknown }> }>;
type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
};
type Answer = { description: string; headers?: object; content?: Content };
type Operation = {
  operationId: string;
  summary: string;
  tags: [string];
  description?: string;
  parameters?: Parameter[];
  requestBody?: { description?: string; content: Content };
  responses: Record<string, Answer>;
};
type Document = {
  info: { description: string };
  servers: [{ url: string }];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema>; headers: Record<string, { description: string }> };
};

const NOT_OFFERED = "Not offered.";
const JSON_TYPE = "application/json";

/** The page of the API that `document` describes. */
export function referencePage(document: ReturnType<typeof createDocument>): Page {
  const { info, servers, tags, paths, webhooks, components } = document as unknown as Document;
  const baseUrl = servers[0].url;
  const schemas = new Schemas(components.schemas);

  const operations = [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        operation,
        body: operationBody(operation, { method, path }),
      })),
    ),
    ...Object.values(webhooks).map(({ post }) => ({ operation: post, body: eventBody(post) })),
  ];
  const groups: Section[] = tags.map(({ name, description }) => ({
    id: `tag/${name}`,
    title: name,
    body: markdown.parse(description) as string,
    parts: operations
      .filter(({ operation }) => operation.tags[0] === name)
      .map(({ operation, body }) => ({
        id: `tag/${name}/operation/${operation.operationId}`,
        title: escapeHtml(operation.summary),
        body,
      })),
  }));
  const headers = Object.entries(components.headers).map(([name, { description }]) =>
    row({ id: `header/${name}`, name, about: inline(description) }),
  );
  return {
    path: "/docs/reference",
    title: "API reference",
    opening: info.description,
    sections: [...groups, { id: "headers", title: "Response headers", body: list(headers) }],
  };

  function operationBody(operation: Operation, at: { method: string; path: string }): string {
    const { parameters = [], requestBody, responses } = operation;
    const [[status = "", answer], ...failures] = Object.entries(responses) as [[string, Answer], ...[string, Answer][]];
    const given = ["path", "query", "header"].flatMap((place) => {
      const rows = parameters.filter((one) => one.in === place).map(parameterRow);
      return rows.length === 0 ? [] : [`<h4>${PLACES[place]}</h4>${list(rows)}`];
    });
    const body = requestBody?.content[JSON_TYPE];
    const streamed = answer.content?.["text/event-stream"];
    const chunk = streamed && schemas.nested({ $ref: "#/components/schemas/ChatCompletionChunk" }, "a chunk");
    const text = [
      `<p class="endpoint"><b>${at.method.toUpperCase()}</b> <code>${at.path}</code></p>`,
      paragraphs(operation.description),
      ...given,
      body && `<h4>Body</h4>${paragraphs(requestBody?.description)}${schemas.fields(body.schema)}`,
      `<h4>Answer <code>${status}</code></h4>${paragraphs(answer.description)}`,
      answer.content && schemas.fields(answer.content[JSON_TYPE]?.schema ?? {}, "optional"),
      chunk,
      `<p class="hint">Headers: ${Object.keys(answer.headers ?? {})
        .map(headerLink)
        .join(", ")}</p>`,
      `<h4>Errors</h4>${list(failures.map(errorRow))}`,
    ];
    const example = body && (Object.values(body.examples ?? {})[0]?.value ?? schemas.example(body.schema));
    const request = { ...at, url: baseUrl + addressOf(at.path, parameters), body: example };
    const samples = [
      tabs(SAMPLES.map(([language, sample]) => codeBlock(sample(request), language))),
      answer.content && codeBlock(asJson(schemas.example(answer.content[JSON_TYPE]?.schema ?? {})), `Answer ${status}`),
      streamed && codeBlock(String(streamed.example).trimEnd(), "Answer with stream"),
    ];
    return columns(text, samples);
  }

  function eventBody({ description, parameters = [], requestBody }: Operation): string {
    const schema = requestBody?.content[JSON_TYPE]?.schema ?? {};
    const text = [
      paragraphs(description),
      `<h4>Header</h4>${list(parameters.map(parameterRow))}`,
      `<h4>Body</h4>${schemas.fields(schema, "optional")}`,
    ];
    return columns(text, [codeBlock(asJson(schemas.example(schema)), "Delivery")]);
  }

  function parameterRow({ name, required = false, description = "", schema }: Parameter): string {
    const isRequired = required ? "required" : "";
    return row({ name, type: typeOf(schema), note: isRequired, about: about(description, schema) });
  }
}

const PLACES: Record<string, string> = { path: "Path", query: "Query", header: "Headers" };

const columns = (text: readonly (string | undefined)[], samples: readonly (string | undefined)[]) =>
  `<div class="operation"><div>${text.join("")}</div><div class="samples">${samples.join("")}</div></div>`;
const paragraphs = (text = ""): string => markdown.parse(text) as string;
const list = (rows: readonly string[]): string => `<dl class="fields">${rows.join("")}</dl>`;
const asJson = (value: unknown): string => JSON.stringify(value, null, 2);
const headerLink = (name: string): string => `<a href="#header/${name}">${name}</a>`;

type Row = { id?: string; name: string; type?: string; note?: string; about: string };

const row = ({ id, name, type = "", note = "", about }: Row): string =>
  `<div${id === undefined ? "" : ` id="${id}"`}><dt><code>${escapeHtml(name)}</code> <span>${escapeHtml(type)}</span> <em>${note}</em></dt><dd>${about}</dd></div>`;

/** A status, and its codes as links to their causes. The document writes each as `code`: cause. */
function errorRow([status, { description }]: [string, Answer]): string {
  const codes = [...description.matchAll(/^`(\w+)`:/gm)].map(([, code]) => code);
  const links = codes.map((code) => `<a href="/docs/errors#${code}"><code>${code}</code></a>`);
  return row({ name: status, about: links.join(", ") });
}

/** A path with its parameters' examples. */
const addressOf = (path: string, parameters: readonly Parameter[]): string =>
  parameters.reduce((shown, { name, example }) => shown.replace(`{${name}}`, String(example)), path);

type Sample = { method: string; url: string; body: unknown };

/** A request as one pastes it, by language. The bodies of our examples have no value that Python writes otherwise. */
const SAMPLES: [string, (sample: Sample) => string][] = [
  [
    "curl",
    ({ method, url, body }) =>
      [
        `curl ${method === "delete" ? "-X DELETE " : ""}${url}`,
        `-H "Authorization: Bearer $SERVICE_API_KEY"`,
        ...(body === undefined ? [] : [`-H "Content-Type: application/json"`, `-d '${asJson(body)}'`]),
      ].join(" \\\n  "),
  ],
  [
    "Python",
    ({ method, url, body }) => `import os, requests

reply = requests.${method}(
    "${url}",
    headers={"Authorization": f"Bearer {os.environ['SERVICE_API_KEY']}"},
${body === undefined ? "" : `    json=${asJson(body).replaceAll("\n", "\n    ")},\n`})
print(reply.json())`,
  ],
  [
    "JavaScript",
    ({ method, url, body }) => {
      const isJson = body === undefined ? "" : `, "Content-Type": "application/json"`;
      return `const reply = await fetch("${url}", {
  method: "${method.toUpperCase()}",
  headers: { Authorization: \`Bearer \${process.env.SERVICE_API_KEY}\`${isJson} },
${body === undefined ? "" : `  body: JSON.stringify(${asJson(body).replaceAll("\n", "\n  ")}),\n`}});
console.log(await reply.json());`;
    },
  ],
];

const isNull = ({ type }: Schema): boolean => type === "null";
const branchesOf = ({ anyOf, oneOf }: Schema): Schema[] => anyOf ?? oneOf ?? [];

/** `string`, `integer or null`, `array of Job`. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  const branches = branchesOf(schema);
  if (branches.length > 0 && schema.type === undefined) return [...new Set(branches.map(typeOf))].join(" or ");
  const types = [schema.type ?? "any"].flat();
  return types
    .map((type) => (type === "array" && schema.items ? `array of ${typeOf(schema.items)}` : type))
    .join(" or ");
}

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);

/** The meaning of a field and its values. Patterns are left out: they are for programs, which read them in the document. */
function about(description: string, schema: Schema): string {
  const { minimum = schema.minLength ?? schema.minItems, maximum = schema.maxLength ?? schema.maxItems } = schema;
  const of =
    (schema.maxLength ?? schema.minLength) ? " characters" : (schema.maxItems ?? schema.minItems) ? " entries" : "";
  const values = schema.enum ?? branchesOf(schema).flatMap((branch) => branch.enum ?? []);
  const facts = [
    values.length > 0 && `One of ${values.map((value) => `\`${value}\``).join(", ")}.`,
    schema.default !== undefined && `Default ${JSON.stringify(schema.default)}.`,
    minimum !== undefined && maximum !== undefined && `${number(minimum)} to ${number(maximum)}${of}.`,
    minimum !== undefined && maximum === undefined && minimum !== 0 && `At least ${number(minimum)}${of}.`,
    minimum === undefined && maximum !== undefined && `At most ${number(maximum)}${of}.`,
  ];
  return inline([description, ...facts.filter((fact) => fact !== false)].join(" "));
}

const number = (value: number): string => value.toLocaleString("en-US");

/** The document's schemas as lists of fields, and as examples. */
class Schemas {
  readonly #named: Record<string, Schema>;

  constructor(named: Record<string, Schema>) {
    this.#named = named;
  }

  #resolve(schema: Schema): Schema {
    const { $ref, ...own } = schema;
    return $ref === undefined ? schema : { ...this.#named[nameOf($ref)], ...own };
  }

  /** The fields of an object, those of objects in them to be opened. `mark`: which fields are marked, required or optional ones. */
  fields(schema: Schema, mark: "required" | "optional" = "required"): string {
    const { properties = {}, required = [] } = this.#resolve(schema);
    const [refused, offered] = ["refused", "offered"].map((kind) =>
      Object.entries(properties).filter(
        ([, { description }]) => (description === NOT_OFFERED) === (kind === "refused"),
      ),
    ) as [[string, Schema][], [string, Schema][]];
    const rows = offered.map(([name, field]) => {
      const isMarked = required.includes(name) === (mark === "required");
      const { description = "" } = this.#resolve(field);
      const inner = this.nested(field, name, mark);
      return row({ name, type: typeOf(field), note: isMarked ? mark : "", about: about(description, field) + inner });
    });
    const names = refused.map(([name]) => `<code>${escapeHtml(name)}</code>`).join(", ");
    return list(rows) + (refused.length > 0 ? `<p class="hint">Not offered: ${names}.</p>` : "");
  }

  /** The fields of the objects that a field can hold. */
  nested(field: Schema, name: string, mark: "required" | "optional" = "required"): string {
    const resolved = this.#resolve(field);
    const objects = [resolved, ...branchesOf(resolved)].flatMap((one) => {
      const inner = this.#resolve(one.items ?? one);
      return Object.keys(inner.properties ?? {}).length > 0 ? [this.fields(inner, mark)] : [];
    });
    if (objects.length === 0) return "";
    // The fields of `data` are shown unfolded: it holds the entries of a list or the object of an event.
    const open = name === "data" ? " open" : "";
    return `<details${open}><summary>Fields of <code>${escapeHtml(name)}</code></summary>${objects.join("")}</details>`;
  }

  /** A value with the required fields. */
  example(schema: Schema): unknown {
    const resolved = this.#resolve(schema);
    const { examples, enum: values, type, properties = {}, required = [], items } = resolved;
    const [example = resolved.const ?? resolved.default ?? values?.[0]] = examples ?? [];
    if (example !== undefined) return example;
    const branch = branchesOf(resolved).find((one) => !isNull(one));
    if (branch !== undefined) return this.example(branch);
    switch ([type].flat()[0]) {
      case "object":
        return Object.fromEntries(required.map((name) => [name, this.example(properties[name] ?? {})]));
      case "array":
        return items === undefined ? [] : [this.example(items)];
      case "boolean":
        return true;
      case "integer":
      case "number":
        return resolved.minimum ?? 0;
      default:
        return resolved.format === "date-time" ? "2026-01-31T12:00:00Z" : "…";
    }
  }
}
