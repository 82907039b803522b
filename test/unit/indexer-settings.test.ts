/** What the indexer says of a node's URL that cannot be read, before it starts anything. */
import { describe, expect, it } from "vitest";
import { LaunchError, readEnvironment } from "../../indexer/launch/environment.ts";

const settings = {
  DATABASE_URL: "postgres://localhost/x",
  RPC_URL: "https://node.example.com",
  WS_URL: "wss://node.example.com",
  DEPLOYMENT_FILE: "there-is-no-such-file.json",
};

/** The error that its operator reads. */
function refusal(more: Partial<typeof settings>): Error {
  try {
    readEnvironment({ ...settings, ...more });
  } catch (error) {
    return error as Error;
  }
  throw new Error("the settings were taken");
}

describe.each(["RPC_URL", "WS_URL"] as const)("%s of the indexer", (name) => {
  it.each([
    ["with a bare '%' in its password", "wss://user:100%secret@node.example.com", /: a '%' .*write each '%' as %25/],
    ["that is no URL", "//user:secret@node.example.com", / is not a URL$/],
  ])("%s is refused by its name, without a stack, and is not shown", (_what, url, why) => {
    const error = refusal({ [name]: url });
    const { message } = error;
    expect(error).toBeInstanceOf(LaunchError);
    expect(message).toMatch(why);
    expect(message.startsWith(name)).toBe(true);
    expect(message).not.toContain("secret");
  });
});

it("an empty WS_URL is none", () => {
  expect(refusal({ WS_URL: "" }).message).toMatch(/^DEPLOYMENT_FILE .* cannot be read/);
});
