import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import type { KnownStack } from "./api-client.ts";

// biome-ignore lint/suspicious/noExplicitAny: a JSON document from outside
type Json = any;

/** The error body with every key, in the specification's shape. */
export const errorBody = ({ info }: KnownStack, code: string, type: string, more: object = {}) => ({
  error: {
    code,
    message: expect.stringMatching(/.{10,}/),
    type,
    param: null,
    docs: `${info.base_url}/docs/errors#${code}`,
    ...more,
  },
});

/**
 * Holds answers against the service's own OpenAPI document, more strictly than the document says: an answer may have no
 * field and no service header that is not described.
 */
export class Contract {
  readonly document: Json;
  readonly #ajv: Ajv2020;
  /** `method path status` of every answer that was checked. */
  readonly seen = new Set<string>();

  constructor(document: Json) {
    this.document = structuredClone(document);
    close(this.document.components.schemas);
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    (addFormats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema({ $id: "api:", components: this.document.components });
  }

  static async of(baseUrl: string): Promise<Contract> {
    return new Contract(await (await fetch(`${baseUrl}/openapi.json`)).json());
  }

  /** Expects that `value` is what the named schema says. */
  conforms(name: string, value: unknown): void {
    const validate = this.#ajv.getSchema(`api:#/components/schemas/${name}`);
    expect(validate, `schema ${name}`).toBeDefined();
    validate?.(value);
    expect(validate?.errors ?? [], `${name}: ${JSON.stringify(value)}`).toEqual([]);
  }

  /** Expects that the answer is one that the operation has: status, type, headers and body. Returns the body. */
  async check(method: string, template: string, response: Response): Promise<Json> {
    const where = `${method} ${template} ${response.status}`;
    this.seen.add(where);
    const answer = this.document.paths[template]?.[method]?.responses[response.status];
    expect(answer, `${where} is described`).toBeDefined();
    const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
    const content = answer.content[type];
    expect(content, `${where} as ${type} is described`).toBeDefined();
    const described = Object.keys(answer.headers).map((name) => name.toLowerCase());
    const sent = [...response.headers.keys()].filter((name) =>
      /^(x-|ratelimit|retry|idempotent|server-timing)/.test(name),
    );
    const known = ["x-content-type-options", "x-accel-buffering"];
    expect(described, where).toEqual(expect.arrayContaining(sent.filter((name) => !known.includes(name))));
    expect(sent, where).toContain("x-request-id");
    if (type === "text/event-stream") return this.#stream(content.schema.contentSchema, await response.text());
    const body = await response.json();
    this.conforms(nameOf(content.schema), body);
    return body;
  }

  #stream(schema: Json, text: string): Json[] {
    const events = text.split("\n\n").filter((event) => event.startsWith("data: "));
    expect(events.at(-1)).toBe("data: [DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)));
    for (const chunk of chunks) this.conforms(nameOf(schema), chunk);
    return chunks;
  }
}

const nameOf = (schema: Json) => schema.$ref.split("/").at(-1);

/** Objects of answers are open for later fields; today's answers have none that are not described. */
function close(schema: Json): void {
  if (schema === null || typeof schema !== "object") return;
  if (schema.properties !== undefined && schema.type === "object") schema.additionalProperties ??= false;
  for (const value of Object.values(schema)) close(value);
}
