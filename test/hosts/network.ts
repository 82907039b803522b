import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Part, ROOT } from "../support/processes.ts";

/** Networks of the second to last byte: the service's own, two of workers, and the clients' (this machine itself). */
const CORE = 1;
const OUTSIDE = 4;
const PREFIX = "inference-";
const ROUTER = `${PREFIX}router`;
const LINK = "inference-out";
/** How long PostgreSQL may take to end. */
const QUIT_MS = 5_000;
/** Megabytes of each host's disk. */
const DISK = 512;

/** Each host by its name, with its network and number. */
const PLAN = {
  proxy: [CORE, 10],
  "gateway-a": [CORE, 11],
  "gateway-b": [CORE, 12],
  indexer: [CORE, 13],
  "db-1": [CORE, 14],
  "db-2": [CORE, 15],
  chain: [CORE, 16],
  "worker-1": [2, 21],
  "worker-2": [2, 22],
  "worker-3": [3, 23],
} as const;
export type HostName = keyof typeof PLAN;

const HOSTS = Object.keys(PLAN) as HostName[];
export const addressOf = (name: HostName): string => `10.77.${PLAN[name][0]}.${PLAN[name][1]}`;
/** Where clients, webhook receivers and the verdict are. */
export const OUTSIDE_ADDRESS = `10.77.${OUTSIDE}.2`;
/** Of the primary database: it moves. */
export const DATABASE_ADDRESS = `10.77.${CORE}.50`;

const run = (line: string): string => {
  const [file = "", ...args] = line.split(" ");
  return execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
};
const inside = (name: string, line: string): string => run(`ip netns exec ${name} ${line}`);

/** A network namespace with a disk of its own: what runs there reaches others by its address only. */
export class Host {
  readonly name: HostName;
  readonly address: string;
  /** Its disk: a tmpfs of bounded size. */
  readonly folder: string;
  readonly #space: string;
  readonly #parts = new Map<string, Part>();

  constructor(name: HostName, folder: string) {
    this.name = name;
    this.address = addressOf(name);
    this.folder = folder;
    this.#space = PREFIX + name;
  }

  /** What a program is started by to run here. */
  get prefix(): string[] {
    return ["ip", "netns", "exec", this.#space];
  }

  /** Runs a command to its end. */
  do(line: string): string {
    return inside(this.#space, line);
  }

  /** Starts a program, and starts it again a second after it has ended by itself, as a process manager does. Its log is on the host's disk. */
  start(name: string, program: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    const all = { PATH: process.env["PATH"], HOME: this.folder, TMPDIR: this.folder, ...env };
    const [by = "", ...before] = this.prefix;
    const logging = ["sh", "-c", 'log="$1"; shift; exec "$@" >>"$log" 2>&1', "sh", join(this.folder, `${name}.log`)];
    const launch = (): void => {
      const part = new Part(`${name} on ${this.name}`, by, [...before, ...logging, ...program], {
        cwd: ROOT,
        env: all,
      });
      this.#parts.set(name, part);
      const again = (): void => (this.#parts.get(name) === part ? launch() : undefined);
      void part.exited.then(() => sleep(1_000)).then(again);
    };
    launch();
  }

  program(name: string): Part {
    return this.#parts.get(name) as Part;
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const parts = [...this.#parts.values()];
    this.#parts.clear();
    await Promise.all(parts.map((part) => part.stop(signal)));
  }

  /** A host that is gone answers nothing, not even with a reset. */
  set link(isUp: boolean) {
    this.do(`ip link set eth0 ${isUp ? "up" : "down"}`);
    if (isUp) this.do(`ip route replace default via ${gatewayOf(this.name)}`);
  }

  /** Drops all packets to and from another host, until `join`. */
  part(other: Host, addresses: readonly string[] = []): void {
    for (const address of [other.address, ...addresses]) {
      this.do(`iptables -A INPUT -s ${address} -j DROP`);
      this.do(`iptables -A OUTPUT -d ${address} -j DROP`);
    }
  }

  /** Loses this share of all packets on the wire, each way, until `join`. */
  lose(share: number): void {
    const at = { INPUT: "-i eth0", OUTPUT: "-o eth0" };
    for (const [chain, link] of Object.entries(at))
      this.do(`iptables -A ${chain} ${link} -m statistic --mode random --probability ${share} -j DROP`);
  }

  join(): void {
    this.do("iptables -F");
  }
}

const gatewayOf = (name: HostName): string => `10.77.${PLAN[name][0]}.1`;

/** The router, too, learns where an address is now. */
export const forget = (address: string): string => inside(ROUTER, `ip neigh flush to ${address}`);

/** Why this machine cannot have such a network; null if it can. */
export function fault(): string | null {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  for (const program of ["ip -V", "iptables -V", "nginx -v", "openssl version", "setpriv --version"]) {
    try {
      run(program);
    } catch {
      return `${program.split(" ")[0]} is missing: apt-get install iproute2 iptables nginx openssl util-linux`;
    }
  }
  if (run("ip netns list").includes(PREFIX)) return "the namespaces of another run are there: end it, or use --clean";
  return null;
}

/** Builds the hosts: each a namespace behind a bridge of its network, a router between the networks. */
export function build(): { hosts: Record<HostName, Host>; folder: string } {
  run(`ip netns add ${ROUTER}`);
  inside(ROUTER, "ip link set lo up");
  execFileSync("ip", ["netns", "exec", ROUTER, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
  for (const network of new Set(Object.values(PLAN).map(([one]) => one))) {
    inside(ROUTER, `ip link add br${network} type bridge`);
    inside(ROUTER, `ip addr add 10.77.${network}.1/24 dev br${network}`);
    inside(ROUTER, `ip link set br${network} up`);
  }
  run(`ip link add ${LINK} type veth peer name out netns ${ROUTER}`);
  run(`ip addr add ${OUTSIDE_ADDRESS}/24 dev ${LINK}`);
  run(`ip link set ${LINK} up`);
  inside(ROUTER, `ip addr add 10.77.${OUTSIDE}.1/24 dev out`);
  inside(ROUTER, "ip link set out up");
  run(`ip route add 10.77.0.0/16 via 10.77.${OUTSIDE}.1`);
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  execFileSync("chmod", ["711", folder]);
  const hosts = HOSTS.map((name) => {
    const [network, number] = PLAN[name];
    const space = PREFIX + name;
    run(`ip netns add ${space}`);
    run(`ip link add eth0 netns ${space} type veth peer name h${number} netns ${ROUTER}`);
    inside(space, "ip link set lo up");
    inside(space, `ip addr add ${addressOf(name)}/24 dev eth0`);
    inside(space, "ip link set eth0 up");
    inside(space, `ip route add default via 10.77.${network}.1`);
    inside(ROUTER, `ip link set h${number} master br${network} up`);
    const disk = join(folder, name);
    mkdirSync(disk, { mode: 0o755 });
    run(`mount -t tmpfs -o size=${DISK}m,mode=755 ${space} ${disk}`);
    return [name, new Host(name, disk)] as const;
  });
  return { hosts: Object.fromEntries(hosts) as Record<HostName, Host>, folder };
}

/** Sends PostgreSQL this signal, and SIGKILL to all other processes in the namespaces; returns how many there were. */
function endAll(spaces: readonly string[], signal: NodeJS.Signals): number {
  const pids = spaces.flatMap((space) => run(`ip netns pids ${space}`).split("\n").filter(Boolean).map(Number));
  for (const pid of pids) {
    try {
      const isPostgres = readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres");
      process.kill(pid, isPostgres ? signal : "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
  return pids.length;
}

const pause = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Ends every process in the namespaces and removes them, with links and disks. Safe to call at any time, and more than once. */
export function remove(): void {
  const spaces = run("ip netns list")
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "")
    .filter((name) => name.startsWith(PREFIX));
  // A PostgreSQL that is killed leaves its shared memory behind; SIGQUIT ends it at once and in order.
  for (let end = Date.now() + QUIT_MS; endAll(spaces, Date.now() < end ? "SIGQUIT" : "SIGKILL") > 0; pause(50));
  for (const space of spaces) run(`ip netns del ${space}`);
  const mounts = run("findmnt -rn -t tmpfs -o TARGET").split("\n");
  const disks = mounts.filter((target) => target.startsWith(join(tmpdir(), PREFIX)));
  for (const disk of disks) run(`umount -l ${disk}`);
  for (const folder of new Set(disks.map(dirname))) rmSync(folder, { recursive: true, force: true });
}
