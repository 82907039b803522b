import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import { chainFiles } from "../../scripts/dev/chain.ts";
import { signal } from "../../shared/process.ts";
import { dumpChain } from "../support/chain-dump.ts";
import type { Random } from "../support/random.ts";
import type { Weather, Wire } from "../support/wire.ts";
import type { World } from "./world.ts";

/** One kind of accident. It begins, lasts a while, and is over when `strike` returns; what it did is for the verdict to judge. */
export type Fault = { name: string; strike: (world: World, random: Random) => Promise<void> };

/** Ends a part at once and starts it again a moment later. */
const killed = (part: string): Fault => ({
  name: `kill -9 ${part}`,
  strike: async ({ stack }, random) => {
    await stack.kill(part);
    await sleep(random.int(0, 1_500));
    await stack.restart(part);
  },
});

/** Stops a process for a while, as a long pause of its machine does. */
const frozen = (name: string, pidOf: (world: World) => number): Fault => ({
  name: `SIGSTOP ${name}`,
  strike: async (world, random) => {
    const pid = pidOf(world);
    signal(pid, "SIGSTOP");
    await sleep(random.int(500, 4_000));
    signal(pid, "SIGCONT");
  },
});

const weather = (name: string, wireOf: (world: World) => Wire, bad: (random: Random) => Weather): Fault => ({
  name,
  strike: async (world, random) => {
    const wire = wireOf(world);
    wire.weather = bad(random);
    await sleep(random.int(1_000, 4_000));
    // Half-open connections end with the weather: a mute one would otherwise stay mute for ever.
    wire.weather = { kind: "cut" };
    wire.weather = { kind: "fair" };
  },
});

const slow = (random: Random): Weather => ({ kind: "slow", ms: random.int(100, 500) });
const cut = (): Weather => ({ kind: "cut" });
const mute = (): Weather => ({ kind: "mute" });

/** Takes the last blocks back; their transactions come again, as they do from other nodes' pools, or are lost. */
const reorganisation = (name: string, returns: boolean): Fault => ({
  name,
  strike: async ({ rpc, miner, note }, random) => {
    const depth = random.int(1, 10);
    await miner.hold(async () => {
      const head = Number(await rpc<Hex>("eth_blockNumber"));
      const raw: Hex[] = [];
      for (let block = head - depth + 1; block <= head; block++) {
        const found = await rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", [`0x${block.toString(16)}`, false]);
        for (const hash of found.transactions) raw.push(await rpc<Hex>("eth_getRawTransactionByHash", [hash]));
      }
      try {
        await rpc("anvil_reorg", [depth, []]);
      } catch (error) {
        // A node that was just started from a dump has no states from before it to go back to.
        if (!/Required data unavailable/.test(String(error))) throw error;
        return note(`no reorganisation of ${depth} blocks: the node has no states of so long ago`);
      }
      if (!returns) return;
      for (const transaction of raw) await rpc("eth_sendRawTransaction", [transaction]).catch(() => {});
    });
  },
});

export const FAULTS: readonly Fault[] = [
  killed("api"),
  killed("indexer"),
  killed("postgres"),
  {
    name: "kill -9 chain",
    strike: async (world, random) => {
      const { stack, miner } = world;
      const dump = await miner.hold(() => dumpChain(stack.info.rpc_url));
      // What comes from here on is lost.
      await sleep(random.int(500, 8_000));
      await stack.kill("chain");
      writeFileSync(chainFiles(stack.options.dataDir).state, dump);
      await sleep(random.int(0, 1_500));
      await stack.restart("chain");
    },
  },
  killed("worker-1"),
  {
    name: "kill -9 second gateway",
    strike: async ({ second }, random) => {
      await second.kill();
      await sleep(random.int(0, 1_500));
      await second.start();
    },
  },
  {
    name: "SIGTERM api",
    strike: async ({ stack }) => {
      await stack.kill("api", "SIGTERM");
      await stack.restart("api");
    },
  },
  frozen("api", ({ pid }) => pid("api")),
  frozen("second gateway", ({ second }) => second.pid),
  frozen("indexer", ({ pid }) => pid("indexer")),
  frozen("chain", ({ pid }) => pid("chain")),
  frozen("worker-2", ({ pid }) => pid("worker-2")),
  weather("slow chain", ({ chainWire }) => chainWire, slow),
  weather("cut chain", ({ chainWire }) => chainWire, cut),
  weather("mute chain", ({ chainWire }) => chainWire, mute),
  weather("slow database", ({ databaseWire }) => databaseWire, slow),
  weather("cut database", ({ databaseWire }) => databaseWire, cut),
  weather("mute database", ({ databaseWire }) => databaseWire, mute),
  reorganisation("reorganisation", true),
  reorganisation("reorganisation that loses transactions", false),
  {
    name: "dropped transactions",
    strike: async ({ rpc }) => {
      const { pending } = await rpc<{ pending: Record<string, Record<string, { hash: Hex }>> }>("txpool_content");
      for (const byNonce of Object.values(pending)) {
        for (const { hash } of Object.values(byNonce)) await rpc("anvil_dropTransaction", [hash]);
      }
    },
  },
  {
    name: "base fee above every offer",
    strike: async ({ rpc }, random) => {
      await rpc("anvil_setNextBlockBaseFeePerGas", [`0x${(BigInt(random.int(20, 100)) * 10n ** 9n).toString(16)}`]);
    },
  },
  {
    name: "clock of the chain jumps",
    strike: async ({ rpc }, random) => {
      await rpc("evm_increaseTime", [random.int(1, 3)]);
    },
  },
  {
    name: "webhook receiver fails",
    strike: async ({ receiver, clients }, random) => {
      const path = `/client-${random.int(0, clients.length - 1)}`;
      receiver.behave(path, (response) => void response.writeHead(500).end());
      await sleep(random.int(500, 3_000));
      receiver.behave(path, (response) => void response.end());
    },
  },
];

/**
 * Faults after which an answer can be unpaid: a development node's last dump, a reorganisation that loses transactions, or one that
 * mines a lock again later than its answer was finished.
 */
export const ROLL_BACKS: ReadonlySet<string> = new Set([
  "kill -9 chain",
  "reorganisation",
  "reorganisation that loses transactions",
]);

/**
 * Which of the world's gateways a fault kills. At the wrong moment it has given its answer away: the other order would charge clients that saw
 * nothing.
 */
export const GATEWAY_KILLS: ReadonlyMap<string, number> = new Map([
  ["kill -9 api", 0],
  ["kill -9 second gateway", 1],
]);
