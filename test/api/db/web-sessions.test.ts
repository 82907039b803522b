/** How many sessions of the web application a wallet has. */
import { afterAll, expect, it } from "vitest";
import { SESSIONS_PER_WALLET, Sessions } from "../../../web/server/sessions.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());

it("a wallet's oldest session ends when it has one too many, and no other wallet's", async () => {
  const sessions = new Sessions(pool, "https://app.example");
  const [one, other] = [`0x${"11".repeat(20)}`, `0x${"22".repeat(20)}`];
  const others = await sessions.open(other);
  const tokens: string[] = [];
  for (let n = 0; n < SESSIONS_PER_WALLET; n++) tokens.push((await sessions.open(one)).token);
  const [oldest = "", second = ""] = tokens;
  expect(await sessions.find(oldest)).not.toBeNull();
  await sessions.open(one);
  expect(await sessions.find(oldest)).toBeNull();
  expect(await sessions.find(second)).not.toBeNull();
  expect(await sessions.find(others.token)).not.toBeNull();
});
