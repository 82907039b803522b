/** A client's balance is read from a node that may close a kept connection in the moment it is used. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeFunctionResult, type Hex } from "viem";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Balances } from "../../api/chain/balances.ts";
import { connectRpc, RpcError, RpcUnreachable } from "../../api/chain/rpc.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";

const wallet: Hex = `0x${"11".repeat(20)}`;
const escrow: Hex = `0x${"22".repeat(20)}`;
const account = {
  id: 7,
  free: 700,
  escrowed: 30,
  sequence: 1,
  dailyLimit: 0,
  spentToday: 0,
  spentDay: 0,
  flags: 0,
  openDisputes: 0,
};

let server: Server;
let balances: Balances;
/** Methods asked for so far, and of them those whose connection is closed instead of an answer. */
let asked: string[];
let unanswered: (method: string, times: number) => boolean;
let refused: boolean;

beforeEach(async () => {
  [asked, unanswered, refused] = [[], () => false, false];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      const { id, method } = JSON.parse(text);
      asked.push(method);
      if (unanswered(method, asked.filter((one) => one === method).length)) return request.socket.destroy();
      const result =
        method === "eth_call"
          ? encodeFunctionResult({ abi: inferenceEscrowAbi, functionName: "accountOf", result: account })
          : "0x10";
      const error = { code: -32_000, message: "no state" };
      response.end(JSON.stringify(refused && method === "eth_call" ? { id, error } : { id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  balances = new Balances(connectRpc(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), escrow);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it.each(["eth_blockNumber", "eth_call"])("is there although the connection of its %s was closed", async (method) => {
  unanswered = (one, times) => one === method && times === 1;
  expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
});

it("is asked for twice, not for ever", async () => {
  unanswered = () => true;
  await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
  expect(asked).toHaveLength(2);
});

it("that the node refuses to tell is asked for once", async () => {
  refused = true;
  await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcError);
  expect(asked).toEqual(["eth_blockNumber", "eth_call"]);
});
