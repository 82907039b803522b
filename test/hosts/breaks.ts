import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { query } from "../../scripts/dev/postgres.ts";
import { addressOf, DATABASE_ADDRESS, forget, type HostName } from "./network.ts";
import { GATEWAYS, type Hosts } from "./world.ts";

/** How long each lasts. */
const HOLD_MS = 8_000;
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** One thing that goes wrong. `isOver` tells that it is over; `strike` then starts what a process manager would, or what a person has to. */
export type Break = {
  name: string;
  strike: (world: Hosts, isOver: () => void) => Promise<void>;
  /** True if answers can be given away: a gateway or the database ended at once. */
  lossy?: true;
  /** Why it cannot be done on this machine. */
  lacks?: () => string | null;
};

/** Hosts that speak to each other. */
const PAIRS: readonly (readonly [HostName, HostName])[] = [
  ...GATEWAYS.flatMap((gateway) =>
    (["proxy", "db-1", "chain", "worker-1", "worker-2", "worker-3"] as const).map((other) => [gateway, other] as const),
  ),
  ["gateway-a", "gateway-b"],
  ["indexer", "db-1"],
  ["indexer", "chain"],
  ["db-1", "db-2"],
  ...(["worker-1", "worker-2", "worker-3"] as const).map((worker) => [worker, "chain"] as const),
];

const parted = ([one, other]: readonly [HostName, HostName]): Break => ({
  name: `partition ${one} – ${other}`,
  strike: async ({ hosts }) => {
    // The database is reached by an address that moves.
    hosts[one].part(hosts[other], other === "db-1" ? [DATABASE_ADDRESS] : []);
    await sleep(HOLD_MS);
    hosts[one].join();
  },
});

/** A host is gone with all its processes, comes back, and its process manager starts them. */
const dead = (name: HostName): Break => ({
  name: `${name} dead`,
  ...(name.startsWith("gateway") ? { lossy: true as const } : {}),
  strike: async ({ hosts, databases, start }, isOver) => {
    hosts[name].link = false;
    if (name === "db-2") await databases[name].stop("SIGQUIT");
    else await hosts[name].stop("SIGKILL");
    await sleep(HOLD_MS);
    hosts[name].link = true;
    isOver();
    await start(name);
  },
});

const full = (name: HostName, recover: (world: Hosts) => Promise<void>): Break => ({
  name: `disk of ${name} full`,
  lossy: true,
  strike: async (world, isOver) => {
    const ballast = join(world.hosts[name].folder, "ballast");
    // It ends when there is no room left.
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=64k"], { stdio: "ignore" });
    await sleep(2 * HOLD_MS);
    rmSync(ballast);
    isOver();
    await recover(world);
  },
});

const skewed = (name: "gateway-b" | "worker-1", seconds: number): Break => ({
  name: `clock of ${name} ${seconds > 0 ? "ahead" : "behind"} by ${Math.abs(seconds)} s`,
  lacks: () => (existsSync(FAKETIME) ? null : "libfaketime is missing: apt-get install faketime"),
  strike: async ({ hosts, start }, isOver) => {
    await hosts[name].stop("SIGTERM");
    await start(name, {
      LD_PRELOAD: FAKETIME,
      FAKETIME: `${seconds > 0 ? "+" : ""}${seconds}s`,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
    await sleep(2 * HOLD_MS);
    isOver();
    await hosts[name].stop("SIGTERM");
    await start(name);
  },
});

export const BREAKS: readonly Break[] = [
  {
    name: "80 ms and 1 % loss to the chain",
    strike: async ({ hosts: { chain } }) => {
      const relay = chain.program("relay").child;
      relay.kill("SIGUSR2");
      chain.lose(0.01);
      await sleep(2 * HOLD_MS);
      relay.kill("SIGUSR2");
      chain.join();
    },
  },
  ...PAIRS.map(parted),
  ...(["proxy", "gateway-a", "indexer", "worker-1", "db-2"] as const).map(dead),
  {
    name: "chain dead",
    // A development node that is killed would forget blocks, as no chain does: its host is out of reach.
    strike: async ({ hosts: { chain } }) => {
      chain.link = false;
      await sleep(HOLD_MS);
      chain.link = true;
    },
  },
  {
    name: "proxy restarted",
    strike: async ({ hosts: { proxy }, start }) => {
      await proxy.stop("SIGQUIT");
      await start("proxy");
    },
  },
  skewed("gateway-b", 30),
  skewed("gateway-b", -30),
  skewed("worker-1", 30),
  full("worker-1", async () => {}),
  full("db-1", async ({ databases }) => {
    if (!databases["db-1"].isRunning) await databases["db-1"].start();
  }),
  {
    name: "db-1 dead, failover to its replica",
    lossy: true,
    strike: async ({ hosts, databases }, isOver) => {
      hosts["db-1"].link = false;
      await databases["db-1"].stop("SIGQUIT");
      await sleep(HOLD_MS);
      isOver();
      await query(databases["db-2"].url.replace(/[^/]*$/, "postgres"), "SELECT pg_promote()");
      hosts["db-2"].do(`ip addr add ${DATABASE_ADDRESS}/24 dev eth0`);
      // The other hosts of the network learn at once where the address is, as from a gratuitous ARP.
      for (const name of [...GATEWAYS, "indexer"] as const) hosts[name].do(`ip neigh flush to ${DATABASE_ADDRESS}`);
      forget(DATABASE_ADDRESS);
    },
  },
];

export const readyOf = async (name: (typeof GATEWAYS)[number]): Promise<boolean> =>
  fetch(`http://${addressOf(name)}:4000/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
