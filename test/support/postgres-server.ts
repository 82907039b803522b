import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { query } from "../../scripts/dev/postgres.ts";
import { Part } from "./processes.ts";

/** Debian's programs, which have `pg_dump` and `pg_basebackup`; the packages of the local stack have neither. */
export const DEBIAN_POSTGRES = "/usr/lib/postgresql/15/bin";
const PASSWORD = "drill";
const READY_MS = 60_000;

type Place = {
  folder: string;
  host: string;
  port: number;
  /** What the programs are started by, such as `ip netns exec <name>`. */
  prefix?: readonly string[];
};

/** A server of Debian's PostgreSQL that a test may kill, copy and replace. It runs as the user postgres; the test is root. */
export class PostgresServer {
  readonly url: string;
  readonly #place: Place;
  readonly #user: { uid: number; gid: number };
  #part: Part | undefined;

  constructor(place: Place) {
    this.#place = place;
    const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
    this.#user = { uid: id("-u"), gid: id("-g") };
    this.url = `postgresql://postgres:${PASSWORD}@${place.host}:${place.port}/inference`;
  }

  /** Makes an empty cluster. */
  create(): void {
    const { folder } = this.#place;
    this.#makeFolder();
    const secret = `${folder}.password`;
    writeFileSync(secret, PASSWORD, { mode: 0o600 });
    chownSync(secret, this.#user.uid, this.#user.gid);
    const names = ["--username=postgres", `--pwfile=${secret}`, "--auth=scram-sha-256"];
    this.#run("initdb", [`--pgdata=${folder}`, ...names, "--encoding=UTF8", "--no-locale", "--no-sync"]);
    rmSync(secret);
    const access = "host all all 0.0.0.0/0 scram-sha-256\nhost replication all 0.0.0.0/0 scram-sha-256\n";
    writeFileSync(join(folder, "pg_hba.conf"), access);
  }

  /** Makes a copy of a running server that follows it. */
  follow(primary: PostgresServer): void {
    this.#makeFolder();
    const { host, port } = primary.#place;
    const source = `host=${host} port=${port} user=postgres password=${PASSWORD}`;
    this.#run("pg_basebackup", ["-D", this.#place.folder, "-d", source, "--write-recovery-conf", "--checkpoint=fast"]);
  }

  /** Starts the server and waits until it answers. */
  async start(): Promise<void> {
    const { folder, port, prefix = [] } = this.#place;
    const settings = [`port=${port}`, "listen_addresses=*", "unix_socket_directories=", "max_connections=200"];
    const [file = "", ...args] = [...prefix, join(DEBIAN_POSTGRES, "postgres"), "-D", folder];
    const options = { ...(prefix.length === 0 ? this.#user : {}), env: { LC_ALL: "C" }, cwd: "/" };
    this.#part = new Part("PostgreSQL", file, [...args, ...settings.flatMap((one) => ["-c", one])], options);
    const url = this.url.replace(/[^/]*$/, "postgres");
    await this.#part.until(async () => (await query(url, "SELECT 1")) === "1", READY_MS);
  }

  get isRunning(): boolean {
    const { exitCode = 0, signalCode = null } = this.#part?.child ?? {};
    return exitCode === null && signalCode === null;
  }

  /** SIGQUIT ends all its processes at once, as a crash does; SIGINT in order. */
  async stop(signal: "SIGINT" | "SIGQUIT"): Promise<void> {
    await this.#part?.stop(signal);
  }

  remove(): void {
    rmSync(this.#place.folder, { recursive: true, force: true });
  }

  #makeFolder(): void {
    const { folder } = this.#place;
    mkdirSync(dirname(folder), { recursive: true });
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, this.#user.uid, this.#user.gid);
  }

  #run(program: string, args: readonly string[]): void {
    const { prefix = [] } = this.#place;
    const user = prefix.length === 0 ? this.#user : {};
    const [file = "", ...all] = [...prefix, join(DEBIAN_POSTGRES, program), ...args];
    const { status, stderr, error } = spawnSync(file, all, {
      ...user,
      env: { LC_ALL: "C" },
      cwd: "/",
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${program} failed: ${error ?? stderr}`);
  }
}
