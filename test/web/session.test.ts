/** Who may do what below /app/api: sign-in, sessions, other sites. Without a browser. */
import { readFileSync } from "node:fs";
import { parseSignature, serializeCompactSignature, signatureToCompactSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseDeployment } from "../../protocol/deployment.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { apiClient, chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { type SharedStack, sharedStack } from "../support/shared-fixtures.ts";
import { type ContractWallet, deployContractWallet } from "./support/contract-wallet.ts";
import { WebClient } from "./support/web-client.ts";
import { MODEL } from "./support/web-stack.ts";

const MINUTE = 60_000;
/** A wallet that has no credits. */
const account = privateKeyToAccount(generatePrivateKey());
let stack: SharedStack;
let database: ReturnType<typeof openStore>;
/** Not signed in, at the begin of each test. */
let web: WebClient;

beforeAll(async () => {
  stack = await sharedStack("web");
  database = openStore(stack);
});
beforeEach(() => {
  web = new WebClient(stack);
});
afterAll(() => database?.end());

describe("signing in", () => {
  it("opens a session for the wallet that signed", async () => {
    const { status, headers, body } = await web.signIn(account);
    expect(status).toBe(200);
    expect(body.session.wallet).toBe(account.address);
    const cookie = headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Strict/i);
    expect((await web.get("/session")).body.session.wallet).toBe(account.address);
  });

  it("takes each signed message once", async () => {
    const message = await web.message(account);
    const body = { message, signature: await account.signMessage({ message }) };
    expect((await web.post("/session", body)).status).toBe(200);
    const again = await new WebClient(stack).post("/session", body);
    expect([again.status, again.body.error.code]).toEqual([401, "nonce_used"]);
    expect(again.headers.get("set-cookie")).toBeNull();
  });

  it("takes a message once even when it is sent twice at the same moment", async () => {
    const message = await web.message(account);
    const body = { message, signature: await account.signMessage({ message }) };
    const answers = await Promise.all([1, 2, 3, 4].map(() => new WebClient(stack).post("/session", body)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
  });

  it.each([
    ["a nonce that we did not issue", { nonce: "0123456789abcdef0123456789abcdef" }, 401, "nonce_expired"],
    ["a nonce with another expiry written in", { nonce: `ffffffff${"0".repeat(56)}` }, 401, "nonce_expired"],
    ["another domain", { domain: "evil.example" }, 400, "wrong_domain"],
    ["another site's address", { uri: "https://evil.example/app" }, 400, "wrong_domain"],
    ["another chain", { chainId: 1 }, 400, "wrong_chain"],
    ["a message that has expired", { expirationTime: new Date(Date.now() - 1_000) }, 401, "message_expired"],
    ["a message valid for a day", { expirationTime: new Date(Date.now() + 1_440 * MINUTE) }, 401, "message_expired"],
    ["a message from the future", { issuedAt: new Date(Date.now() + 60 * MINUTE) }, 401, "message_expired"],
  ])("refuses %s", async (_what, fields, status, code) => {
    const answer = await web.signIn(account, fields);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(web.cookie).toBeNull();
  });

  it("refuses a message without an end", async () => {
    const message = (await web.message(account)).replace(/\nExpiration Time: .*/, "");
    const answer = await web.post("/session", {
      message,
      signature: await account.signMessage({ message }),
    });
    expect(answer.body.error.code).toBe("message_expired");
  });

  it("refuses another wallet's signature, and takes the right one after it", async () => {
    const message = await web.message(account);
    const other = privateKeyToAccount(generatePrivateKey());
    const wrong = await web.post("/session", { message, signature: await other.signMessage({ message }) });
    expect([wrong.status, wrong.body.error.code]).toEqual([401, "invalid_signature"]);
    const right = await web.post("/session", {
      message,
      signature: await account.signMessage({ message }),
    });
    expect(right.status).toBe(200);
  });

  it("takes a signature of 64 bytes, as some wallets make them (EIP-2098)", async () => {
    const message = await web.message(account);
    const signed = parseSignature(await account.signMessage({ message }));
    const signature = serializeCompactSignature(signatureToCompactSignature(signed));
    expect((await web.post("/session", { message, signature })).body.session?.wallet).toBe(account.address);
  });

  it("refuses what is no sign-in message", async () => {
    const message = "Give me all your credits";
    const answer = await web.post("/session", {
      message,
      signature: await account.signMessage({ message }),
    });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_message"]);
  });
});

describe("a wallet that is a contract", () => {
  let wallet: ContractWallet;
  beforeAll(async () => {
    wallet = await deployContractWallet(stack);
  });

  it("signs in with what its contract takes for a signature", async () => {
    const { status, body } = await web.signIn(wallet.account);
    expect([status, body.session?.wallet]).toEqual([200, wallet.account.address]);
    expect((await web.get("/account")).body).toMatchObject({ free: 0, has_account: false });
  });

  it("signs in with an empty signature that a Safe approved on chain", async () => {
    // Returns what means yes (ERC-1271), whatever it is asked.
    const approving = privateKeyToAccount(generatePrivateKey());
    const code = "0x631626ba7e60e01b60005260206000f3";
    await rpc(stack.info.rpc_url, "anvil_setCode", [approving.address, code]);
    const message = await web.message(approving);
    const { body } = await web.post("/session", { message, signature: "0x" });
    expect(body.session?.wallet).toBe(approving.address);
  });

  it("is refused with a wrong signature, and can sign the message again", async () => {
    const message = await web.message(wallet.account);
    const signature = await account.signMessage({ message });
    for (const wrong of [signature, `${signature}${wallet.account.address.slice(2)}`, "0x1234"]) {
      const refused = await web.post("/session", { message, signature: wrong });
      expect([refused.status, refused.body.error.code], wrong).toEqual([401, "invalid_signature"]);
    }
    const signed = await wallet.account.signMessage({ message });
    expect((await web.post("/session", { message, signature: signed })).status).toBe(200);
  });
});

describe("a session", () => {
  it("is asked for by every page of one's own", async () => {
    for (const path of ["/account", "/usage", "/key", "/jobs", "/jobs.csv"]) {
      const { status, body } = await web.get(path);
      expect([path, status, body.error?.code]).toEqual([path, 401, "not_signed_in"]);
    }
  });

  it("ends by signing out, for every copy of its cookie", async () => {
    await web.signIn(account);
    const copy = new WebClient(stack);
    copy.cookie = web.cookie;
    expect((await web.request("DELETE", "/session")).status).toBe(204);
    expect((await copy.get("/account")).body.error.code).toBe("session_expired");
  });

  it("ends when its time is over", async () => {
    await web.signIn(account);
    await database.query("UPDATE web_session SET expires_at = now() - interval '1 second' WHERE wallet = $1", [
      account.address.toLowerCase(),
    ]);
    const { status, body } = await web.get("/account");
    expect([status, body.error.code]).toEqual([401, "session_expired"]);
    expect(web.cookie).toBeNull();
  });

  it("is stored so that the database does not give it away", async () => {
    await web.signIn(account);
    const token = (web.cookie ?? "").split("=")[1] ?? "";
    const { rows } = await database.query("SELECT encode(token_hash, 'escape') || wallet AS text FROM web_session");
    expect(rows.length).toBeGreaterThan(0);
    for (const { text } of rows) expect(text).not.toContain(token);
  });
});

describe("another wallet's session", () => {
  it("sees neither jobs nor account of this one", async () => {
    const client = await Client.funded(stack, database, 100);
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    const jobId = reply.headers.get("x-service-job-id");
    await web.signIn(account);
    expect((await web.get(`/jobs/${jobId}`)).body.error.code).toBe("job_not_found");
    expect((await web.get("/jobs")).body.data).toEqual([]);
    expect((await web.get("/account")).body).toMatchObject({ free: 0, escrowed: 0, has_account: false });

    const owner = new WebClient(stack);
    await owner.signIn(client.account);
    expect((await owner.get(`/jobs/${jobId}`)).body.id).toBe(jobId);
    // Lists come from the index, a little after the answer.
    await expect.poll(async () => (await owner.get("/jobs.csv")).body, { timeout: 60_000 }).toContain(jobId);
  });
});

describe("another site", () => {
  it.each([
    ["from another origin", { origin: "https://evil.example" }, "origin_not_allowed"],
    ["from an opaque origin", { origin: "null" }, "origin_not_allowed"],
    ["as a form would send it", { "x-requested-by": null }, "header_missing"],
  ] as const)("cannot change anything %s", async (_how, given, code) => {
    await web.signIn(account);
    await web.post("/key");
    const before = (await web.get("/key")).body;
    const headers = new Headers({ cookie: web.cookie ?? "", origin: web.origin, "x-requested-by": "web" });
    for (const [name, value] of Object.entries(given)) value === null ? headers.delete(name) : headers.set(name, value);
    const response = await fetch(`${stack.info.app_url}/api/key`, { method: "POST", headers });
    expect(response.status).toBe(403);
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe(code);
    expect((await web.get("/key")).body).toEqual(before);
  });

  it("gets no leave to read, and no frame", async () => {
    const preflight = await fetch(`${stack.info.app_url}/api/key`, {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
    const { headers } = await web.get("/config");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
  });
});

describe("the API key", () => {
  it("is shown once, replaced at once and revoked at once", async () => {
    await web.signIn(account);
    const works = async (key: string) => (await apiClient(stack, key).get("/v1/account")).status;
    const first = (await web.post("/key")).body.api_key as string;
    expect(first).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
    expect(await works(first)).toBe(200);
    const shown = (await web.get("/key")).body;
    expect(shown.key.hint).toBe(first.slice(-4));
    expect(JSON.stringify(shown)).not.toContain(first);

    const second = (await web.post("/key")).body.api_key as string;
    expect([await works(first), await works(second)]).toEqual([401, 200]);
    expect((await web.request("DELETE", "/key")).status).toBe(204);
    expect(await works(second)).toBe(401);
    expect((await web.get("/key")).body.key).toBeNull();
  });

  it("cannot be swapped for a free one while it is suspended", async () => {
    const other = privateKeyToAccount(generatePrivateKey());
    await web.signIn(other);
    await web.post("/key");
    await database.query("UPDATE api_key SET suspended_at = now() WHERE wallet = $1", [other.address.toLowerCase()]);
    const refused = await web.post("/key");
    expect([refused.status, refused.body.error.code]).toEqual([403, "key_suspended"]);
    await web.request("DELETE", "/key");
    const { body } = await web.post("/key");
    expect((await apiClient(stack, body.api_key).get("/v1/account")).body.error.code).toBe("key_suspended");
  });
});

describe("the deployment file", () => {
  it("is handed out to everyone, as workers read it", async () => {
    const response = await fetch(`${stack.info.app_url}/api/deployment.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const file = stack.deploymentFile;
    const own = parseDeployment(readFileSync(file, "utf8"), file);
    expect(parseDeployment(await response.text(), "deployment.json")).toEqual(own);
    expect(own.contracts.InferenceEscrow).toBe(stack.info.contracts.InferenceEscrow);
  });
});
