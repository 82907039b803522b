import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { bringUpToDate, DEV_OWNER, registrarOf } from "../../operator/register-workers.ts";
import type { Deployment } from "../../protocol/deployment.ts";
import { DEPLOYER_KEY, OPERATOR_ADMIN } from "../../scripts/deploy/config.ts";
import { anvilBinary, chainFiles, GENESIS_TIME, readDeployment, rpc } from "../../scripts/dev/chain.ts";
import { query } from "../../scripts/dev/postgres.ts";
import { GATEWAY, OPERATOR, provideOperator } from "../../scripts/dev/wallets.ts";
import { Miner } from "../faults/miner.ts";
import { CLIENTS, EVENTS, type Judged, MODEL } from "../faults/world.ts";
import { eventually } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { ROOT } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { MASTER_KEY, SECOND_KEY } from "../support/second-gateway.ts";
import { copyDeployedChain, plainEnv } from "../support/shared.ts";
import { addressOf, build, DATABASE_ADDRESS, type Host, type HostName, OUTSIDE_ADDRESS } from "./network.ts";

const RPC_URL = `http://${addressOf("chain")}:8545`;
export const SERVICE = `https://${addressOf("proxy")}`;
export const GATEWAYS = ["gateway-a", "gateway-b"] as const;
const WORKERS = ["worker-1", "worker-2", "worker-3"] as const;
const RECEIVER_PORT = 9443;
/** Like those of an operator, and so are a job's windows; the clients' burst comes from one address. */
const GATEWAY_ENV = { WEBHOOK_CONFIRMATIONS: "0", BURST_PER_SECOND: "100000" };

/** The service on its hosts, clients outside, and who of the two databases is the primary. */
export type Hosts = Judged & {
  hosts: Record<HostName, Host>;
  databases: Record<"db-1" | "db-2", PostgresServer>;
  primary: "db-1" | "db-2";
  /** Starts what a host runs, as its process manager does, and waits until it works. */
  start: (name: HostName, env?: NodeJS.ProcessEnv) => Promise<void>;
  stop: () => Promise<void>;
};

const READY_MS = 300_000;
const ready = async (look: () => Promise<boolean>): Promise<void> =>
  void (await eventually(() => look().catch(() => false), Boolean, READY_MS));

/** A certificate for all addresses, from an authority that everybody here knows. */
function certify(folder: string): { ca: string; certificate: string; key: string } {
  const file = (name: string): string => join(folder, name);
  const addresses = [...[...WORKERS, "proxy" as const].map(addressOf), OUTSIDE_ADDRESS];
  writeFileSync(file("names"), `subjectAltName=${addresses.map((one) => `IP:${one}`).join()}`);
  const openssl = (line: string): Buffer => execFileSync("openssl", line.split(" "), { stdio: "pipe" });
  const curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  openssl(`req -x509 ${curve} -keyout ${file("ca.key")} -out ${file("ca.pem")} -days 2 -subj /CN=drill`);
  openssl(`req -new ${curve} -keyout ${file("tls.key")} -out ${file("tls.csr")} -subj /CN=host`);
  openssl(
    `x509 -req -in ${file("tls.csr")} -CA ${file("ca.pem")} -CAkey ${file("ca.key")} -CAcreateserial -days 2 -extfile ${file("names")} -out ${file("tls.crt")}`,
  );
  return { ca: file("ca.pem"), certificate: file("tls.crt"), key: file("tls.key") };
}

/** deploy/nginx/inference.conf, with the addresses of here in place of its names. */
function proxyConfiguration({ folder }: Host, { certificate, key }: { certificate: string; key: string }): string {
  const conf = readFileSync(join(ROOT, "deploy/nginx/inference.conf"), "utf8")
    .replace("gateway-a:4000", `${addressOf("gateway-a")}:4000`)
    .replace("gateway-b:4000", `${addressOf("gateway-b")}:4000`)
    .replace("/etc/nginx/tls.crt", certificate)
    .replace("/etc/nginx/tls.key", key);
  const file = join(folder, "nginx.conf");
  const main = `daemon off; user root; pid ${folder}/pid; error_log ${folder}/error.log; events {}`;
  writeFileSync(file, `${main}\nhttp { access_log off; client_body_temp_path ${folder}/bodies;\n${conf}\n}\n`);
  return file;
}

/** Builds the network and starts everything in it. */
export async function openHosts(credits: number, note: (line: string) => void): Promise<Hosts> {
  const { hosts, folder } = build();
  const tlsFiles = certify(folder);
  tls.setDefaultCACertificates([...tls.getCACertificates("default"), readFileSync(tlsFiles.ca, "utf8")]);
  const { chain } = hosts;
  await copyDeployedChain(chain.folder, { env: {} });
  const deploymentFile = join(chain.folder, "deployment.json");
  const deployment = readDeployment(deploymentFile) as Deployment;
  const [anvil, place] = [anvilBinary().file, ["--host", "127.0.0.1", "--port", "8544", "--chain-id", "31337"]];
  const state = [
    "--state",
    chainFiles(chain.folder).state,
    "--timestamp",
    String(GENESIS_TIME),
    "--prune-history",
    "32",
  ];
  // Blocks come from the miner.
  chain.start("anvil", [anvil, ...place, ...state, "--quiet", "--block-time", "36000"]);
  const relay = [process.execPath, "test/hosts/relay.ts"];
  chain.start("relay", [...relay, "8545", "8544"]);
  await ready(async () => (await rpc(RPC_URL, "anvil_setTime", [Math.floor(Date.now() / 1_000)])) !== undefined);
  note("chain is up");

  const server = (name: "db-1" | "db-2"): PostgresServer => {
    const prefix = [...hosts[name].prefix, "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
    return new PostgresServer({ folder: join(hosts[name].folder, "data"), host: addressOf(name), port: 5432, prefix });
  };
  const databases = { "db-1": server("db-1"), "db-2": server("db-2") };
  databases["db-1"].create();
  await databases["db-1"].start();
  await query(databases["db-1"].url.replace(/[^/]*$/, "postgres"), "CREATE DATABASE inference");
  databases["db-2"].follow(databases["db-1"]);
  await databases["db-2"].start();
  hosts["db-1"].do(`ip addr add ${DATABASE_ADDRESS}/24 dev eth0`);
  const databaseUrl = databases["db-1"].url.replace(addressOf("db-1"), DATABASE_ADDRESS);
  note("PostgreSQL and its replica are up");

  const miner = new Miner(RPC_URL);
  const { contracts } = deployment;
  const info = { base_url: SERVICE, app_url: `${SERVICE}/app`, rpc_url: RPC_URL, chain_id: 31_337 };
  const stackFile = { ...info, database_url: databaseUrl, deployment_file: deploymentFile, contracts, worker_port: 0 };
  await provideOperator(stackFile, {
    operator: OPERATOR,
    admin: privateKeyToAccount(OPERATOR_ADMIN.privateKey),
    signers: [GATEWAY.privateKey, SECOND_KEY].map((key) => privateKeyToAccount(key)),
    funder: privateKeyToAccount(DEPLOYER_KEY),
    reserve: 100_000,
  });
  await rpc(RPC_URL, "anvil_setBalance", [privateKeyToAddress(SECOND_KEY), "0x3635c9adc5dea00000"]);
  const workers = WORKERS.map((name) => ({
    privateKey: generatePrivateKey(),
    endpoint: `https://${addressOf(name)}:9443`,
    models: [MODEL],
  }));
  await bringUpToDate(registrarOf(RPC_URL, DEV_OWNER, deployment), workers);
  const common = { ...plainEnv(), RPC_URL, DEPLOYMENT_FILE: deploymentFile, NODE_EXTRA_CA_CERTS: tlsFiles.ca };
  const gateway = (key: Hex): NodeJS.ProcessEnv => ({
    ...common,
    ...GATEWAY_ENV,
    API_HOST: "0.0.0.0",
    API_PORT: "4000",
    DATABASE_URL: databaseUrl,
    GATEWAY_PRIVATE_KEY: key,
    MASTER_KEY,
    BASE_URL: SERVICE,
    TRUST_PROXY: "1",
    ALLOW_ENDPOINT_NETWORKS: "10.77.2.0/24,10.77.3.0/24,10.77.4.0/24",
  });
  const started: Partial<Record<HostName, (env: NodeJS.ProcessEnv) => Promise<void>>> = {
    proxy: async () => {
      const file = proxyConfiguration(hosts.proxy, tlsFiles);
      hosts.proxy.start("nginx", ["nginx", "-c", file, "-e", `${hosts.proxy.folder}/error.log`]);
      await ready(async () => (await fetch(`${SERVICE}/healthz`)).status > 0);
    },
    indexer: async (env) => {
      const address = { INDEXER_HOST: "0.0.0.0", INDEXER_PORT: "4269" };
      const all = { ...common, DATABASE_URL: databaseUrl, WS_URL: "", ...address, ...env };
      hosts.indexer.start("indexer", [process.execPath, "indexer/main.ts"], all);
      await ready(async () => (await fetch(`http://${addressOf("indexer")}:4269/ready`)).ok);
    },
    "db-1": () => databases["db-1"].start(),
    "db-2": () => databases["db-2"].start(),
  };
  for (const [n, name] of GATEWAYS.entries()) {
    started[name] = async (env) => {
      const all = { ...gateway(n === 0 ? GATEWAY.privateKey : SECOND_KEY), ...env };
      hosts[name].start("gateway", [process.execPath, "api/main.ts"], all);
      await ready(async () => (await fetch(`http://${addressOf(name)}:4000/readyz`)).ok);
    };
  }
  for (const [n, name] of WORKERS.entries()) {
    started[name] = async (env) => {
      const model = { WORKER_MODELS: MODEL, WORKER_BACKEND: "builtin", WORKER_FIRST_TOKEN_MS: "50" };
      const key = { WORKER_PRIVATE_KEY: workers[n]?.privateKey, WORKER_DATA_DIR: join(hosts[name].folder, "worker") };
      const all = { ...common, ...model, ...key, WORKER_TOKENS_PER_SECOND: "300", ...env };
      hosts[name].start("relay", [...relay, "9443", "9101", tlsFiles.certificate, tlsFiles.key]);
      hosts[name].start("worker", [process.execPath, "worker/main.ts"], all);
      await ready(async () => (await fetch(`https://${addressOf(name)}:9443/healthz`)).ok);
    };
  }
  const start = async (name: HostName, env: NodeJS.ProcessEnv = {}): Promise<void> => await started[name]?.(env);
  await Promise.all([start("indexer"), ...WORKERS.map((name) => start(name))]);
  for (const name of GATEWAYS) await start(name);
  await start("proxy");
  note("gateways, indexer, workers and proxy are up");

  const stack = {
    info: { ...stackFile, demo: null },
    kill: async (part: string, signal?: NodeJS.Signals) => await hosts[part as HostName].stop(signal ?? "SIGKILL"),
    restart: async (part: string) => await start(part as HostName),
  };
  const pool = openStore(stack);
  const receiver = await Receiver.open();
  const files = { cert: readFileSync(tlsFiles.certificate), key: readFileSync(tlsFiles.key) };
  const endpoint = tls.createServer(files, (socket) => receiver.take(socket)).listen(RECEIVER_PORT, OUTSIDE_ADDRESS);
  const clients: Client[] = [];
  for (let n = 0; n < CLIENTS; n++) {
    const client = await Client.funded(stack, pool, credits);
    await client.webhook(`https://${OUTSIDE_ADDRESS}:${RECEIVER_PORT}/client-${n}`, [...EVENTS]);
    clients.push(client);
  }
  return {
    stack,
    pool,
    clients,
    receiver,
    gateways: [SERVICE],
    rpc: <T>(method: string, params: unknown[] = []) => rpc<T>(RPC_URL, method, params),
    note,
    hosts,
    databases,
    primary: "db-1",
    start,
    stop: async () => {
      miner.stop();
      endpoint.close();
      receiver.close();
      await pool.end();
    },
  };
}
