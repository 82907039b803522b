import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkout, type Drill, type Practice } from "./drill.ts";

/** docs/operations/upkeep.md, "Upgrade without an interruption": the indexer. */
export const newIndex: Drill = {
  name: "new-index",
  does: "fills the index of the version before beside this one, changes over to it, and back again",
  practise: async (practice) => {
    const { stack } = practice.world;
    const { root, remove } = checkout(practice.options.before);
    practice.ends.push(remove);
    // Another build, also where the version before has the same index.
    appendFileSync(join(root, "indexer/src/jobs.ts"), "\n// another build\n");
    await practice.step("the index of this version", () => sleep(5_000));
    const lists = readLists(practice);
    const other = await practice.step("another index fills beside it, and is shown", () => practice.indexer({}, root));
    await practice.step("the first indexer ends", () => stack.kill("indexer", "SIGINT"));
    await practice.step("the other index", () => sleep(5_000));
    await practice.step("this version's index fills again, and is shown", () => stack.restart("indexer"));
    await practice.step("the other indexer ends", () => other.stop("SIGINT"));
    await practice.step("the index of this version", () => sleep(5_000));
    const { read, problems, longest } = await lists.stop();
    practice.options.note(`${read} lists were read; the longest time without a whole one: ${longest} ms`);
    practice.problems.push(...problems);
  },
};

const PAUSE_MS = 100;

/** A client that reads its jobs all the time. Each list must come, with all that an earlier one had; how long none was whole is told. */
function readLists({ world }: Practice): {
  stop: () => Promise<{ read: number; problems: string[]; longest: number }>;
} {
  const headers = { authorization: `Bearer ${world.clients[0]?.apiKey}` };
  const problems: string[] = [];
  let [read, most, longest, whole, stopping] = [0, 1, 0, Date.now(), false];
  const reading = (async () => {
    while (!stopping) {
      const reply = await fetch(`${world.gateways[0]}/v1/jobs?limit=100`, { headers });
      const { data } = (await reply.json()) as { data?: unknown[] };
      read += 1;
      const found = data?.length ?? 0;
      if (!reply.ok || found < most) problems.push(`a list answered ${reply.status} with ${found} of ${most} jobs`);
      most = Math.max(most, found);
      if (!reply.headers.has("indexed-until")) {
        longest = Math.max(longest, Date.now() - whole);
        whole = Date.now();
      }
      await sleep(PAUSE_MS);
    }
  })();
  reading.catch((error) => problems.push(`a list could not be read: ${error}`));
  return {
    stop: async () => {
      stopping = true;
      await reading.catch(() => {});
      return { read, problems, longest };
    },
  };
}
