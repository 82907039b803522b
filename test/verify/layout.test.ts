/** Readers of raw state: the compiler's slots and our decoders of packed words, against real slots. */
import { encodeAbiParameters, type Hex, keccak256, pad } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeAccountWord, decodeJobWord } from "../../protocol/words.ts";
import { released, type StorageLayout } from "../../scripts/deploy/released.ts";
import { type Protocol, people, startProtocol } from "./support/protocol.ts";

describe("real slots", () => {
  let p: Protocol;
  beforeAll(async () => {
    p = await startProtocol();
  });
  afterAll(() => p?.stop());

  /** The word that a mapping of the escrow has under `key`, at the slot of the released layout. */
  const wordOf = async (mapping: string, key: Hex): Promise<bigint> => {
    const { storage, types } = released("InferenceEscrow").storageLayout as StorageLayout;
    const state = storage.find(({ type }) => types[type]?.label === "struct EscrowState");
    const member = types[state?.type ?? ""]?.members?.find(({ label }) => label === mapping);
    const slot = BigInt(state?.slot ?? 0) + BigInt(member?.slot ?? 0);
    const at = keccak256(encodeAbiParameters([{ type: "bytes32" }, { type: "uint256" }], [key, slot]));
    return BigInt((await p.rpc.getStorageAt({ address: p.escrow.address, slot: at })) ?? "0x0");
  };

  it("an account's bits are where the decoder reads them", async () => {
    await p.send(people.client, p.escrow, "setLimits", [true, 5_000, false]);
    const { jobId } = await p.settle();
    await p.dispute(people.gateway, jobId);
    await p.lock();
    const account = await p.read({ ...p.escrow, functionName: "accountOf", args: [people.client.address] });
    expect(account).toMatchObject({ id: 1, escrowed: 8, dailyLimit: 5_000, flags: 2, openDisputes: 1, sequence: 2 });
    expect(decodeAccountWord(await wordOf("accounts", pad(people.client.address)))).toEqual(account);
  });

  it("a job's bits are where the decoder reads them", async () => {
    const { jobId } = await p.settle();
    const job = await p.read({ ...p.escrow, functionName: "jobOf", args: [jobId] });
    expect(job).toMatchObject({
      account: 1,
      worker: 1,
      credits: 8,
      operator: 1,
      attempt: 1,
      status: 4,
      model: 5,
      feeBps: 1_000,
    });
    expect(decodeJobWord(await wordOf("jobs", pad(jobId, { dir: "right" })))).toEqual(job);
  });
});
