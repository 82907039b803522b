/** What the indexer says of settings that it cannot use, before it starts anything. */
import { describe, expect, it } from "vitest";
import { LaunchError, readEnvironment } from "../../../indexer/launch/environment.ts";
import { finalityOf } from "../../../indexer/launch/schemas.ts";

const settings = {
  DATABASE_URL: "postgres://localhost/x",
  RPC_URL: "https://node.example.com",
  WS_URL: "wss://node.example.com",
  DEPLOYMENT_FILE: "there-is-no-such-file.json",
};

/** The error that its operator reads. */
function refusal(more: NodeJS.ProcessEnv): Error {
  try {
    readEnvironment({ ...settings, ...more });
  } catch (error) {
    return error as Error;
  }
  throw new Error("the settings were taken");
}

describe.each(["RPC_URL", "WS_URL"] as const)("%s of the indexer", (name) => {
  it.each([
    ["with a bare '%' in its password", "wss://user:100%secret@node.example.com", /RL: a '%' .*write each '%' as %25/],
    ["that is no URL", "//user:secret@node.example.com", /RL: Invalid URL\n/],
  ])("%s is refused by its name, without a stack, and is not shown", (_what, url, why) => {
    const error = refusal({ [name]: name === "RPC_URL" ? url.replace("wss:", "https:") : url });
    const { message } = error;
    expect(error).toBeInstanceOf(LaunchError);
    expect(message).toMatch(why);
    expect(message).toContain(`\n  ${name}: `);
    expect(message).not.toContain("secret");
  });
});

it("names every wrong setting at once, without its value", () => {
  const { DATABASE_URL: _, ...rest } = settings;
  const wrong = {
    INDEXER_POLL_MS: "abc",
    INDEXER_RPC_PER_SECOND: "0",
    INDEXER_PORT: "70000",
    INDEXER_LOG_LEVEL: "loud",
  };
  expect(() => readEnvironment({ ...rest, ...wrong })).toThrow(
    /^The indexer's environment is not usable:\n {2}DATABASE_URL: .*\n {2}INDEXER_POLL_MS: .*number.*\n {2}INDEXER_RPC_PER_SECOND: .*\n {2}INDEXER_PORT: .*\n {2}INDEXER_LOG_LEVEL: .*"warn".*\nSee docs\/operations\/settings.md/,
  );
  expect(refusal({ DATABASE_URL: "mysql://localhost/x" }).message).toMatch(
    /\n {2}DATABASE_URL: must begin with postgres:/,
  );
});

it("an empty WS_URL is none", () => {
  expect(refusal({ WS_URL: "" }).message).toMatch(/^DEPLOYMENT_FILE .* cannot be read/);
});

it.each([
  ["Ethereum", 1, 65],
  ["Polygon", 137, 200],
  ["Arbitrum", 42_161, 240],
  ["a chain that Ponder does not know", 31_337, 30],
])("a block of %s is final by Ponder's own number", async (_name, chainId, blocks) => {
  expect(await finalityOf(chainId)).toBe(blocks);
});
