import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { chainFiles } from "../../scripts/dev/chain.ts";
import { dumpChain } from "../support/chain-dump.ts";
import type { Drill } from "./drill.ts";

/** Blocks that Ponder takes for final on a chain it does not know. */
const FINALITY = 30;
/** An answer whose lock was taken back under way ends within the completion window. */
const UNDER_WAY_MS = 30_000;
const RECOVERED_MS = 60_000;

/** docs/operations/incidents.md, "The chain reorganises", deeper than the index takes for possible. */
export const reorganise: Drill = {
  name: "reorganise",
  does: "takes more blocks back than the index takes for possible; other blocks follow",
  mayFail: true,
  practise: async (practice) => {
    const { stack, miner, rpc } = practice.world;
    const height = async (): Promise<number> => Number(await rpc("eth_blockNumber"));
    await practice.step("load", () => sleep(5_000));
    const begun = Date.now();
    const kept = await miner.hold(() => dumpChain(stack.info.rpc_url));
    const from = await height();
    await practice.step("blocks that will be lost", async () => {
      while ((await height()) <= from + FINALITY + 10) await sleep(200);
    });
    const depth = await practice.step("the chain loses them", async () => {
      const to = await height();
      await stack.kill("chain");
      writeFileSync(chainFiles(stack.options.dataDir).state, kept);
      await stack.restart("chain");
      return to - from;
    });
    practice.lossy.push({ from: begun, until: Date.now() + UNDER_WAY_MS });
    practice.options.note(`${depth} blocks were lost`);
    practice.expect(depth > FINALITY, `only ${depth} blocks were lost`);
    await practice.step("recovery", () => sleep(UNDER_WAY_MS));
    const before = practice.failures.length;
    await practice.step("load on the other blocks", () => sleep(10_000));
    practice.expect(practice.failures.length === before, "requests fail half a minute after the reorganisation");
    await practice.step("the index is at the head", async () => {
      for (const end = Date.now() + RECOVERED_MS; ; await sleep(250)) {
        const { rows } = await practice.world.pool
          .query(`SELECT substr(latest_checkpoint, 27, 16)::bigint::int AS block FROM "index"._ponder_checkpoint`)
          .catch(() => ({ rows: [] }));
        const head = await height();
        if (Math.abs(head - (rows[0]?.block ?? 0)) < 8) return;
        if (Date.now() > end) return practice.expect(false, `the index is at ${rows[0]?.block} of ${head}`);
      }
    });
  },
};
