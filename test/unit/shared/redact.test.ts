/** What a URL or a setting holds of secrets is taken out of any text, in every form in which libraries quote it. */
import { BaseError, HttpRequestError } from "viem";
import { describe, expect, it } from "vitest";
import { hiding as hidingIndexer } from "../../../indexer/launch/environment.ts";
import { redactOutput, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../../../shared/redact.ts";
import { hiding } from "../../../worker/config.ts";

const KEY = "0f1e2d3c4b5a6978";
const node = (url: string) => redactor(secretsOfUrl(url, "RPC_URL"));

describe("a node's URL", () => {
  it.each([
    ["a key in its path", `https://node.example.com/v3/${KEY}`],
    ["a key in its query", `https://node.example.com/rpc?apikey=${KEY}&chain=1`],
    ["a key for a user", `https://${KEY}@node.example.com`],
    ["a user and a password", `https://operator:${KEY}@node.example.com/`],
    ["all of them", `https://operator:${KEY}%2F%22@node.example.com/v3/${KEY}?token=${KEY}`],
  ])("with %s is shown nowhere", (_, url) => {
    const bare = new URL(url);
    bare.username = "";
    bare.password = "";
    const { username, password, pathname, search } = new URL(url);
    const login = Buffer.from(`${username}:${decodeURIComponent(password)}`).toString("base64");
    const viem = new HttpRequestError({ body: {}, url: bare.href, cause: new Error(`fetch ${url}`) });
    const texts = [
      url,
      `${url}/`,
      JSON.stringify({ url }),
      viem.message,
      new BaseError("failed", { cause: viem }).message,
      `Request cannot be constructed from a URL that includes credentials: ${url}`,
      ...(pathname + search === "/" ? [] : [`POST ${pathname}${search}`]),
      ...(username === "" ? [] : [`Authorization: Basic ${login}`, `${username}:${password}`, `password: ${password}`]),
    ];
    for (const text of texts) {
      const shown = node(url)(text);
      expect(shown).not.toContain(login);
      expect(shown).not.toContain(KEY);
      if (text !== `password: ${password}` || password !== "") expect(shown).toContain("[RPC_URL]");
    }
  });

  it("without any of them is shown: it says which node does not answer", () => {
    for (const text of ["http://127.0.0.1:8545", "URL: http://127.0.0.1:8545/", "/v1/jobs of 127.0.0.1"])
      expect(node("http://127.0.0.1:8545")(text)).toBe(text);
  });

  it.each(["http://127.0.0.1:8000/v1", "https://node.example.com/rpc", "https://node.example.com/eth-mainnet/v3/"])(
    "with a path that is no key is shown: %s",
    (url) => {
      const text = `nothing answers at ${url} (POST ${new URL(url).pathname})`;
      expect(node(url)(text)).toBe(text);
      expect(secretsOfUrl(url, "RPC_URL")).toEqual([]);
    },
  );

  it("with a password before such a path is shown without the password", () => {
    const redact = node(`https://operator:${KEY}@node.example.com/rpc`);
    expect(redact(`https://operator:${KEY}@node.example.com/rpc`)).toBe("[RPC_URL]");
    expect(redact("URL: https://node.example.com/rpc")).toBe("URL: https://node.example.com/rpc");
  });

  it("blots out neither its host nor the names of networks", () => {
    const text = "no node answers at node.example.com (eth-mainnet, v3)";
    expect(node(`https://node.example.com/eth-mainnet/v3/${KEY}`)(text)).toBe(text);
  });
});

describe("a database's URL", () => {
  const redact = redactor(
    secretsOfDatabaseUrl("postgres://gateway:pass%2Fword@db.example.com/inference", "DATABASE_URL"),
  );

  it("is hidden with its password", () => {
    const text = 'postgres://gateway:pass%2Fword@db.example.com/inference "pass/word" pass%2Fword';
    expect(redact(text)).toBe('[DATABASE_URL] "[password]" [password]');
  });

  it("names a database, a user and a host, which are no secrets", () => {
    const text = 'database "inference" of gateway at db.example.com does not exist';
    expect(redact(text)).toBe(text);
  });
});

it("hides the worker's keys, its passphrase and those of its servers", () => {
  const redact = hiding({
    rpcUrl: `https://node.example.com/v3/${KEY}`,
    rpcUrls: ["https://user:secret-of-node@other.example.com/"],
    backend: { kind: "openai", url: "https://user:secret-of-gpu@gpu.example.com/v1", key: "key-of-the-server" },
    privateKey: `0x${"a1".repeat(32)}`,
    ownerKey: `0x${"b2".repeat(32)}`,
    passphrase: { text: 'a "long" phrase', file: null },
  });
  const said = [
    KEY,
    "secret-of-node",
    "secret-of-gpu",
    "key-of-the-server",
    "a1".repeat(32),
    `0x${"b2".repeat(32)}`,
    'a "long" phrase',
  ];
  const shown = redact(JSON.stringify({ said, text: said.join(" ") }));
  for (const secret of said) expect(shown).not.toContain(JSON.stringify(secret).slice(1, -1));
  for (const name of ["RPC_URL", "BACKEND", "BACKEND_KEY", "PRIVATE_KEY", "OWNER_PRIVATE_KEY", "PASSPHRASE"])
    expect(shown).toContain(`${name}]`);
  expect(JSON.parse(shown).said).toHaveLength(said.length);
});

it("the indexer hides what it and Ponder print, text or not", () => {
  const written: unknown[] = [];
  const stream = {
    write: (chunk: unknown): boolean => {
      written.push(chunk);
      return true;
    },
  };
  const rpcUrl = `https://node.example.com/v3/${KEY}`;
  const wsUrl = "wss://:another-key@node.example.com";
  redactOutput(hidingIndexer({ rpcUrls: [rpcUrl], wsUrl, databaseUrl: "postgres://u:long-password@h/db" }), [
    stream as never,
  ]);
  const bytes = new Uint8Array([1, 2]);
  stream.write(`indexer: no answer from ${rpcUrl} or ${wsUrl}; long-password\n`);
  stream.write(bytes);
  expect(written).toEqual(["indexer: no answer from [RPC_URL] or [WS_URL]; [password]\n", bytes]);
});
