/** Nonces that another process took, as each kind of node says it. Only the clock is played. */
import { createClient } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { transportOf } from "../../../shared/chain-node.ts";
import { RpcError } from "../../../shared/json-rpc.ts";
import { sendInTurn } from "../../../shared/nonce-race.ts";
import { NODE_PROFILES } from "../../support/node-profiles.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Sends to a node that refuses so many times with these words. */
async function send({ code, message }: { code: number; message: string }, refusals: number) {
  const node = { asked: 0 };
  const request = async <T>(method: string): Promise<T> => {
    node.asked += 1;
    if (node.asked <= refusals) throw new RpcError(method, code, message, undefined);
    return "0x1" as T;
  };
  const client = createClient({ transport: transportOf({ request }) });
  const sent = sendInTurn(() => client.request({ method: "eth_sendRawTransaction", params: ["0x"] })).catch(
    (error: Error) => error.message,
  );
  await vi.runAllTimersAsync();
  return { result: await sent, asked: node.asked };
}

describe("a nonce that another process took", () => {
  const all = Object.values(NODE_PROFILES).flatMap(({ name, words }) => [
    [name, "used", words.nonceTooLow(7, 6)] as const,
    [name, "known", words.known] as const,
    [name, "taken", words.replacement] as const,
  ]);
  it.each(all)("is asked for again where %s calls it %s", async (_, __, refused) => {
    expect(await send(refused, 3)).toEqual({ result: "0x1", asked: 4 });
  });

  it("is given up after some seconds, with the node's words", async () => {
    const { result, asked } = await send(NODE_PROFILES.geth.words.replacement, Number.POSITIVE_INFINITY);
    expect(result).toContain("replacement transaction underpriced");
    expect(asked).toBe(151);
  });

  it.each(Object.values(NODE_PROFILES).map(({ name, words }) => [name, words] as const))(
    "is not what %s says of too little money or too small a fee",
    async (_, { funds, belowBaseFee }) => {
      expect((await send(funds, 1)).asked).toBe(1);
      expect((await send(belowBaseFee, 1)).asked).toBe(1);
    },
  );
});
