/** What a gateway ends after disputes, on an index and a chain that say what each case says. */
import { pino } from "pino";
import type { Hex } from "viem";
import { expect, it } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import { type Rpc, RpcError } from "../../../../api/chain/rpc.ts";
import { DisputeCloser } from "../../../../api/disputes/closer.ts";
import { headAt, minedAt, submission } from "../../../support/fake-gateway.ts";
import { contractClient, readerOf } from "../../support/jobs.ts";

const USDG = 1_000_000n;
const id = (n: number): Hex => `0x${String(n).padStart(32, "0")}`;

type Case = {
  unruled?: Hex[];
  debts?: { jobId: Hex; units: bigint }[];
  treasury?: bigint;
  /** Jobs of which the chain would refuse what is sent. */
  refused?: Hex[];
  held?: boolean;
};

/** A closer over that state. `sent`: what it sent, in order; `asked`: what the index was asked for with. */
function closerOf(state: Case) {
  const sent: string[] = [];
  const asked: unknown[][] = [];
  const index = readerOf(({ name, values }) => {
    asked.push(values);
    return name === "index_debts" ? (state.debts ?? []) : (state.unruled ?? []).map((one) => ({ id: one }));
  });
  const request: Rpc["request"] = async (_method, [call]) => {
    const { data } = call as { data: string };
    if (state.refused?.some((one) => data.includes(one.slice(2))))
      throw new RpcError("eth_call", 3, "execution reverted", null);
    return "0x" as never;
  };
  const submit = ({ kind, jobId }: Operation) => {
    sent.push(`${kind} ${Number(jobId)}`);
    return submission(minedAt(1_000, kind));
  };
  const closer = new DisputeCloser({
    jobs: {
      account: { address: `0x${"a".repeat(40)}` },
      escrow: `0x${"e".repeat(40)}`,
      operator: { id: 4 },
      head: headAt(() => 1_000),
      pipeline: { submit },
      logger: pino({ level: "silent" }),
    },
    rpc: {
      request,
      client: contractClient((name) => (name === "balanceOf" ? (state.treasury ?? 0n) : `0x${"7".repeat(40)}`)),
    },
    index,
    stablecoin: `0x${"c".repeat(40)}`,
    signer: { held: state.held ?? true },
  });
  return { closer, sent, asked };
}

it("expires disputes of its operator that nobody ruled in time, by chain time", async () => {
  const { closer, sent, asked } = closerOf({ unruled: [id(1), id(2)] });
  await closer.round();
  expect(sent).toEqual(["expire 1", "expire 2"]);
  expect(asked).toContainEqual([4, 1_000, 10]);
});

it("sends nothing that the chain would refuse: another gateway was first", async () => {
  const { closer, sent } = closerOf({ unruled: [id(1), id(2)], refused: [id(1)] });
  await closer.round();
  expect(sent).toEqual(["expire 2"]);
});

it("sends nothing while its signer may be another process's", async () => {
  const { closer, sent } = closerOf({
    unruled: [id(1)],
    debts: [{ jobId: id(2), units: USDG }],
    treasury: USDG,
    held: false,
  });
  await closer.round();
  expect(sent).toEqual([]);
});

it.each<[string, bigint[], bigint, string[]]>([
  ["all debts, where it has so much", [3n * USDG, USDG], 9n * USDG, ["collectDebt 0", "collectDebt 1"]],
  ["nothing, where it has nothing", [USDG], 0n, []],
  ["a part that is worth its gas", [9n * USDG], 2n * USDG, ["collectDebt 0"]],
  ["no part that is not", [9n * USDG], USDG / 2n, []],
  ["a small debt in full", [8_000n], 8_000n, ["collectDebt 0"]],
  ["a smaller one beside one that it cannot pay", [9n * USDG, 8_000n], USDG / 2n, ["collectDebt 1"]],
])("has the treasury pay %s", async (_, debts, treasury, expected) => {
  const { closer, sent } = closerOf({ debts: debts.map((units, n) => ({ jobId: id(n), units })), treasury });
  await closer.round();
  expect(sent).toEqual(expected);
});

it("tries no other debt after a refusal, and each once an hour", async () => {
  const debts = [1, 2].map((n) => ({ jobId: id(n), units: USDG }));
  const state: Case = { debts, treasury: 9n * USDG, refused: [id(1)] };
  const { closer, sent } = closerOf(state);
  await closer.round();
  expect(sent).toEqual([]);
  state.refused = [];
  await closer.round();
  await closer.round();
  expect(sent).toEqual(["collectDebt 2"]);
});

it("goes on where the index is away", async () => {
  const away = () => Promise.reject(Object.assign(new Error("no such table"), { code: "42P01" }));
  const closer = new DisputeCloser({
    jobs: { operator: { id: 1 }, head: { block: { timestamp: 1 } }, logger: pino({ level: "silent" }) },
    index: { query: away },
    signer: { held: true },
  } as never);
  await closer.round();
});
