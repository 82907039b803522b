import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { query } from "../../scripts/dev/postgres.ts";
import { MODEL } from "../faults/world.ts";
import { addressOf, DATABASE_ADDRESS, forget, type HostName } from "./network.ts";
import { GATEWAYS, type Hosts, SERVICE } from "./world.ts";

/** How long each lasts. */
const HOLD_MS = 8_000;
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** One thing that goes wrong. `isOver` tells that it is over; `strike` then starts what a process manager would, or what a person has to. */
type Break = {
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

/** A host without a free byte on its disk, logs and temporary files included. What ended for that is started again, as by a process manager. */
const full = (name: HostName): Break => ({
  name: `disk of ${name} full`,
  ...(name === "db-1" || name.startsWith("worker") ? { lossy: true as const } : {}),
  strike: async (world, isOver) => {
    const { folder } = world.hosts[name];
    const ballast = join(folder, "ballast");
    // It ends when there is no room left; the last bytes take single ones.
    for (const size of ["64k", "1"]) {
      const to = `oflag=append conv=notrunc of=${ballast} bs=${size}`.split(" ");
      spawnSync("dd", ["if=/dev/zero", ...to], { stdio: "ignore" });
    }
    const { bavail } = statfsSync(folder);
    if (bavail > 0) throw new Error(`${bavail} blocks of ${folder} are free`);
    await sleep(HOLD_MS);
    // More than the proxy keeps in memory.
    const [client] = world.clients;
    const long = { model: MODEL, max_tokens: 5, messages: [{ role: "user", content: "word ".repeat(200_000) }] };
    const headers = { authorization: `Bearer ${client?.apiKey}`, "content-type": "application/json" };
    const reply = await fetch(`${SERVICE}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(long),
    });
    world.note(`a request of 1 MB: ${reply.status} ${(await reply.text()).slice(0, 160)}`);
    await sleep(HOLD_MS);
    rmSync(ballast);
    isOver();
    if (name === "db-1" || name === "db-2") {
      if (!world.databases[name].isRunning) await world.databases[name].start();
    }
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
  ...(["proxy", "gateway-a", "indexer", "worker-1", "db-2", "chain", "db-1"] as const).map(full),
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
