/** docs/contracts/storage.md against the compiler's layout and against real slots. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { encodeAbiParameters, type Hex, keccak256, pad } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { released, type StorageLayout } from "../../contracts/release.ts";
import { ROOT } from "../support/processes.ts";
import { type Protocol, people, startProtocol } from "./support/protocol.ts";

const CONTRACTS = ["InferenceEscrow", "ModelCatalog", "WorkerRegistry", "ArbitrationPanel", "ProtocolTreasury"];
const page = readFileSync(join(ROOT, "docs/contracts/storage.md"), "utf8");

/** The cells of the tables whose header begins with `column`, in the section of `heading`. */
function rows(heading: string, column: string): string[][] {
  const level = heading.startsWith("###") ? /\n###? /g : /\n## /g;
  const start = page.indexOf(`\n${heading}\n`) + heading.length + 1;
  level.lastIndex = start;
  const section = page.slice(start, level.exec(page)?.index);
  const tables = section.split("\n\n").filter((block) => block.trim().startsWith(`| ${column} |`));
  return tables.flatMap((table) =>
    table
      .trim()
      .split("\n")
      .slice(2)
      .map((row) =>
        row
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );
}

describe("the compiler's layout", () => {
  const layouts = Object.fromEntries(CONTRACTS.map((name) => [name, released(name).storageLayout]));

  it.each(CONTRACTS)("%s: every slot is in the tables, as it is", (name) => {
    const { storage, types } = layouts[name] as StorageLayout;
    const listed = storage.flatMap(({ slot, offset, label, type }) => {
      const found = types[type];
      // The escrow keeps everything in one struct, and its configuration in a struct of that.
      if (found?.label !== "struct EscrowState") return [[slot, String(offset), label, found?.label]];
      const at = (one: { slot: string }) => String(Number(slot) + Number(one.slot));
      return (found.members ?? []).flatMap((member) =>
        types[member.type]?.label === "struct Config"
          ? (types[member.type]?.members ?? []).map((one) => [
              at(one),
              String(one.offset),
              `config.${one.label}`,
              types[one.type]?.label,
            ])
          : [[at(member), String(member.offset), member.label, types[member.type]?.label]],
      );
    });
    expect(rows(`## ${name}`, "slot")).toEqual(listed);
  });

  it("packs the structs as the tables say", () => {
    const all = Object.entries(layouts).flatMap(([name, { types }]) =>
      Object.values(types).flatMap(({ label, members }) =>
        (members ?? []).map((one) => [
          label.replace("struct ", ""),
          String(Number(one.slot) * 32 + one.offset),
          one.label,
          types[one.type]?.label,
          name,
        ]),
      ),
    );
    const written = CONTRACTS.flatMap((name) => rows(`## ${name}`, "struct").map((row) => [...row, name]));
    expect(written.length).toBeGreaterThan(30);
    for (const row of written) expect(all).toContainEqual(row);
  });
});

describe("real slots", () => {
  let p: Protocol;
  beforeAll(async () => {
    p = await startProtocol();
  });
  afterAll(() => p?.stop());

  /** The word of a mapping's value, found by the page's slot and decoded by its bit table. */
  const decode = async (heading: string, key: Hex, mapping: string) => {
    const [slot = "0"] = rows("## InferenceEscrow", "slot").find(([, , field]) => field === mapping) ?? [];
    const at = keccak256(encodeAbiParameters([{ type: "bytes32" }, { type: "uint256" }], [key, BigInt(slot)]));
    const word = BigInt((await p.rpc.getStorageAt({ address: p.escrow.address, slot: at })) ?? "0x0");
    const fields = rows(heading, "from bit").map(([from, bits, field]) => {
      const value = (word >> BigInt(from as string)) & ((1n << BigInt(bits as string)) - 1n);
      return [field as string, Number(value)];
    });
    return Object.fromEntries(fields) as Record<string, number>;
  };

  it("an account's bits are where the page says", async () => {
    await p.send(people.client, p.escrow, "setLimits", [true, 5_000, false]);
    const { jobId } = await p.settle();
    await p.dispute(people.gateway, jobId);
    await p.lock();
    const account = await p.read({ ...p.escrow, functionName: "accountOf", args: [people.client.address] });
    expect(account).toMatchObject({ id: 1, escrowed: 8, dailyLimit: 5_000, flags: 2, openDisputes: 1, sequence: 2 });
    expect(await decode("### AccountSlot", pad(people.client.address), "accounts")).toEqual(account);
  });

  it("a job's bits are where the page says", async () => {
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
    expect(await decode("### JobSlot", pad(jobId, { dir: "right" }), "jobs")).toEqual(job);
  });
});
