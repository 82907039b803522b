/** Whose jobs a gateway locks: found at its start by its key, and looked at while it runs. */
import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { Operator } from "../../../../api/chain/operator.ts";
import { admit } from "../../../../api/jobs/admission.ts";
import { fakeGateway } from "../../../support/fake-gateway.ts";
import { contractClient } from "../../support/jobs.ts";

const keys = { escrow: `0x${"e5".repeat(20)}`, signer: `0x${"11".repeat(20)}` } as const;

/** A chain on which the key has that standing; a test changes it. */
function chain(standing: { operator: number; removedAt?: number; stopped?: bigint }) {
  const lines: string[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const client = contractClient((name) =>
    name === "signerOf" ? [standing.operator, standing.removedAt ?? 0] : (standing.stopped ?? 0n),
  );
  const removed = vi.fn();
  return { lines, removed, find: () => Operator.find({ rpc: { client }, ...keys, logger, removed }) };
}

it("is the one that its key signs for", async () => {
  const { find, lines } = chain({ operator: 3, stopped: 0b1011n });
  const operator = await find();
  expect([operator.id, operator.mayNotLock, lines]).toEqual([3, null, []]);
  operator.stop();
});

it("is needed: a gateway whose key signs for none does not start", async () => {
  await expect(chain({ operator: 0 }).find()).rejects.toThrow(
    `The key ${keys.signer} signs for no operator of the escrow ${keys.escrow}: have the operator's admin add it (rotateSigners)`,
  );
  await expect(chain({ operator: 2, removedAt: 1_900_000_000 }).find()).rejects.toThrow(
    `The key ${keys.signer} was removed from the signers of operator 2 at 2030-03-17T17:46:40.000Z`,
  );
});

it("takes no jobs while it is stopped, and goes on afterwards", async () => {
  const standing = { operator: 2, stopped: 0b10n };
  const { find, lines } = chain(standing);
  const operator = await find();
  expect(operator.mayNotLock).toBe("operator 2 is stopped on the settlement contract");
  standing.stopped = 0n;
  await operator.refresh();
  expect(operator.mayNotLock).toBeNull();
  expect(lines).toEqual([
    "no jobs are taken: operator 2 is stopped on the settlement contract",
    "the operator may lock again: jobs are taken",
  ]);
  operator.stop();
});

it("takes no jobs once the key has left it, until a new start", async () => {
  const standing = { operator: 2, removedAt: 0 };
  const { find, removed } = chain(standing);
  const operator = await find();
  expect(removed).not.toHaveBeenCalled();
  for (const removedAt of [1_900_000_000, 1_900_000_000, 0]) {
    standing.removedAt = removedAt;
    await operator.refresh();
    expect(operator.mayNotLock).toBe("this gateway's key signs for operator 2 no more");
  }
  expect(removed).toHaveBeenCalledOnce();
  operator.stop();
});

it("refuses a request at once while it may not lock", async () => {
  const operator = await chain({ operator: 2, stopped: 0b10n }).find();
  await expect(admit(fakeGateway({ operator }), {} as never, new AbortController().signal)).rejects.toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("operator 2 is stopped on the settlement contract. Nothing is charged"),
  });
  operator.stop();
});
