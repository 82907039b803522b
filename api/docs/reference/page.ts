import { openApiDocument } from "../../openapi/document.ts";
import { h4, lead, p } from "../blocks.ts";
import { type Entry, html, page } from "../page.ts";
import type { Site } from "../site.ts";
import { type Operation, operation, type Reference } from "./operation.ts";
import { fields, type Schemas } from "./schema.ts";

type Document = {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Schemas; headers: Reference["headers"] };
};

/** `/docs/reference`: the OpenAPI document as a page. It loads nothing and runs nothing. */
export function referencePage({ baseUrl }: Site): string {
  const document = openApiDocument(baseUrl) as unknown as Document;
  const { schemas, headers } = document.components;
  const reference = { schemas, headers, baseUrl };
  const all = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, op]) => ({ method, path, op })),
  );
  const contents: Entry[] = [];
  const parts = document.tags.map(({ name, description }) => {
    contents.push({ title: name });
    const heading = `<h2 id="${name.toLowerCase()}">${name}</h2>${p(description)}`;
    if (name === "Events") return heading + events(document, contents);
    const operations = all.filter(({ op }) => op.tags.includes(name));
    contents.push(...operations.map(({ op }) => ({ id: op.operationId, title: op.summary })));
    return heading + operations.map(({ method, path, op }) => operation(method, path, op, reference)).join("\n");
  });
  const opening = lead(
    "Every endpoint with what it takes and answers. Requests carry `Authorization: Bearer <API_KEY>`; bodies are JSON of at most 4 MiB.",
  );
  const machine = p("The same as a file for generators and tools: [OpenAPI 3.1](/openapi.json).");
  return page(
    "/docs/reference",
    "API reference",
    contents,
    `<h1>API reference</h1>${opening}${machine}${parts.join("\n")}`,
  );
}

function events({ webhooks, components: { schemas } }: Document, contents: Entry[]): string {
  return Object.entries(webhooks)
    .map(([name, { post }]) => {
      contents.push({ id: post.operationId, title: name });
      const schema = post.requestBody?.content["application/json"]?.schema ?? {};
      const title = `<h3><a class="here" href="#${post.operationId}">${html(`\`${name}\``)}</a></h3>`;
      return `<section id="${post.operationId}">${title}${p(post.description ?? "")}${h4("Body")}${fields(schema, schemas)}</section>`;
    })
    .join("\n");
}
