/** The WebSocket that Ponder subscribes to can be found by other programs of the machine, browsers among them. */
import { expect, it } from "vitest";
import { parseRequest } from "../../indexer/launch/head-feed.ts";

it.each(["", "garbage", "{", "null", "1", '"text"', "[]"])(
  "what is no request (%j) is no method, and no end of the indexer",
  (text) => {
    expect(parseRequest(text).method).toBeUndefined();
  },
);

it("a subscription is understood", () => {
  expect(parseRequest('{"jsonrpc":"2.0","id":7,"method":"eth_subscribe","params":["newHeads"]}')).toMatchObject({
    id: 7,
    method: "eth_subscribe",
  });
});
