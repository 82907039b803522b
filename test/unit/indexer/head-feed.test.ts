/** The WebSocket that Ponder subscribes to can be found by other programs of the machine, browsers among them. */
import { expect, it } from "vitest";
import { parseRequest, readFrame } from "../../../indexer/launch/head-feed.ts";

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

it.each([
  "rate limit reached",
  "[object Blob]",
  "null",
  '{"id":1,"error":{"code":-32601,"message":"notifications not supported"}}',
  '{"method":"eth_subscription","params":{"subscription":"0x1","result":{}}}',
  '{"method":"eth_subscription","params":null}',
])("what a node says that is no header (%j) is none, and no end of the indexer", (text) => {
  expect(readFrame(text)).toBeNull();
});

it("a node's header and its word that it took the subscription are understood", () => {
  const header = { hash: "0xab", number: "0x1", timestamp: "0x2" };
  const frame = { jsonrpc: "2.0", method: "eth_subscription", params: { subscription: "0x1", result: header } };
  expect(readFrame(JSON.stringify(frame))).toEqual(header);
  expect(readFrame('{"jsonrpc":"2.0","id":1,"result":"0x1"}')).toBe("subscribed");
});
