/** deploy/: what its files name exists, and nothing that a process needs is missing. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { configSchema } from "../../../api/config.ts";
import { errorSchema } from "../../../api/schemas/error.ts";
import { DEFAULT_DURATIONS } from "../../../scripts/deploy/protocol-settings.ts";
import { SETTINGS as WORKER_SETTINGS } from "../../../worker/config.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const all = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map(([, found = ""]) => found)),
];

const CONTAINERFILE = read("deploy/Containerfile");
const COMPOSE = parse(read("deploy/compose.yaml"), { merge: true }) as {
  services: Record<
    string,
    { env_file?: string | string[]; extra_hosts?: string[]; networks?: { default: { ipv4_address: string } } }
  >;
};
const MANIFESTS = readdirSync(join(ROOT, "deploy/kubernetes")).map((file) => read(`deploy/kubernetes/${file}`));

const settingsOf = (process: string): string[] => all(read(`deploy/env/${process}.env`), /^([A-Z_]+)=/gm);

/** Lines of a stage, those of the stage it builds on first. */
function stage(name: string): string[] {
  const part = CONTAINERFILE.split(/^FROM /m).find((text) => text.split("\n")[0]?.endsWith(` AS ${name}`));
  if (part === undefined) return [];
  const [head = "", ...lines] = part.split("\n");
  return [...stage(head.split(" ")[0] ?? ""), ...lines];
}

/** Every file of ours that a program imports when it runs: types are gone by then. */
function imported(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const path of all(readFileSync(file, "utf8"), /^(?:import|export) (?!type )[^;]*?from "(\.[^"]+)"/gms))
    imported(join(dirname(file), path), seen);
  return seen;
}

describe("the images", () => {
  it.each([
    ["gateway", "api/main.ts"],
    ["indexer", "indexer/main.ts"],
    ["worker", "worker/main.ts"],
  ])("%s has every file that it imports", (name, main) => {
    const copied = all(stage(name).join("\n"), /^COPY --from=build \/app\/(\S+) \S+$/gm);
    const missing = [...imported(join(ROOT, main))]
      .map((file) => relative(ROOT, file))
      .filter((file) => !copied.some((folder) => file.startsWith(`${folder}/`)));
    expect(missing).toEqual([]);
  });
  it.each(["gateway", "indexer", "worker"])("%s does not run as root and tells its health", (name) => {
    expect(stage(name)).toContain("USER 10001:10001");
    expect(stage(name).join("\n")).toContain("HEALTHCHECK");
  });
});

describe("settings", () => {
  const known = [
    ...all(read("docs/operations/settings.md"), /^\| `?([A-Z][A-Z0-9_]+)/gm),
    ...WORKER_SETTINGS.map(({ env }) => env),
  ];
  /** Settings of the gateway without which it does not start. */
  const needed = Object.entries(configSchema.shape)
    .filter(([, schema]) => !schema.safeParse(undefined).success)
    .map(([name]) => name)
    .filter((name) => name !== "DEPLOYMENT_FILE");

  it("compose gives each gateway and each process its own settings", () => {
    const files = Object.entries(COMPOSE.services).map(([name, { env_file = [] }]) => [
      name,
      [env_file].flat().map((file) => file.split("/").at(-1)),
    ]);
    expect(Object.fromEntries(files)).toEqual({
      proxy: [],
      "gateway-a": ["gateway.env", "gateway-a.env"],
      "gateway-b": ["gateway.env", "gateway-b.env"],
      indexer: ["indexer.env"],
      worker: ["worker-1.env"],
      postgres: ["postgres.env"],
    });
    for (const gateway of ["gateway-a", "gateway-b"])
      expect([...settingsOf("gateway"), ...settingsOf(gateway)]).toEqual(expect.arrayContaining(needed));
  });
  it("the Kubernetes manifests name what a gateway needs", () => {
    for (const name of needed) expect(MANIFESTS.join("\n")).toContain(name);
  });
  it("each settings file of the units has an example", () => {
    const named = readdirSync(join(ROOT, "deploy/systemd")).flatMap((unit) =>
      all(read(`deploy/systemd/${unit}`), /^EnvironmentFile=\/etc\/inference\/(.+)$/gm),
    );
    const files = named.flatMap((file) =>
      file.startsWith("gateway-%i") ? ["gateway-a.env", "gateway-b.env"] : [file.replace("%i", "1")],
    );
    expect(readdirSync(join(ROOT, "deploy/env"))).toEqual(expect.arrayContaining(files));
  });
  it("nothing is set that no process knows", () => {
    const set = readdirSync(join(ROOT, "deploy/env"))
      .flatMap((file) => settingsOf(file.replace(".env", "")))
      .filter((name) => !name.startsWith("POSTGRES_"));
    const inManifests = MANIFESTS.flatMap((text) => all(text, /(?:name: |- |key: )([A-Z][A-Z0-9_]+)[,= }]/g));
    expect([...set, ...inManifests].filter((name) => !known.includes(name))).toEqual([]);
  });
  it("the proxy goes on asking a gateway that closed a connection, whatever a client can send", () => {
    const servers = all(read("deploy/nginx/inference.conf"), /^ {4}server (gateway.*);/gm);
    expect(servers).toEqual(["gateway-a:4000 max_fails=0", "gateway-b:4000 max_fails=0"]);
  });
  it("the proxy takes whole answers from a gateway, so that clients which read nothing hold no connection to it", () => {
    expect(read("deploy/nginx/inference.conf")).not.toMatch(/proxy_buffering\s+off/);
  });
  it("the proxy of compose has a fixed address for every name that its nginx asks for", () => {
    const asked = ["inference.conf", "worker.conf"].flatMap((file) =>
      all(read(`deploy/nginx/${file}`), /(?:server |http:\/\/)([\w-]+):\d+/g),
    );
    const fixed = asked.map((name) => `${name}:${COMPOSE.services[name]?.networks?.default.ipv4_address}`);
    expect(COMPOSE.services["proxy"]?.extra_hosts?.sort()).toEqual(fixed.sort());
  });
  it("the proxies wait longer than a gateway lets a repetition wait", () => {
    const { QUEUE_SECONDS, LOCK_SECONDS } = configSchema.shape;
    const { completion, inclusion } = DEFAULT_DURATIONS;
    const longest = QUEUE_SECONDS.parse(undefined) + LOCK_SECONDS.parse(undefined) + completion + inclusion;
    const waits = [
      ...all(read("deploy/nginx/inference.conf"), /proxy_read_timeout (\d+)s;/g),
      ...all(read("deploy/kubernetes/gateways.yaml"), /proxy-read-timeout: "(\d+)"/g),
    ].map(Number);
    expect(waits).toHaveLength(2);
    expect(Math.min(...waits)).toBeGreaterThan(longest);
    expect(read("docs/guide/idempotency.md")).toContain(`after ${longest} seconds`);
  });
  it("the proxy hides metrics and its health check, however they are written", () => {
    const [pattern = ""] = all(read("deploy/nginx/inference.conf"), /location ~\* (\S+) \{ return 404; \}/g);
    // `~*`: upper and lower case are the same. nginx has decoded the path before, and merged its slashes.
    const isHidden = (path: string) => new RegExp(pattern, "i").test(path);
    expect(["/metrics", "/METRICS", "/Metrics/", "/readyz", "/readyZ"].filter((path) => !isHidden(path))).toEqual([]);
    expect(["/healthz", "/v1/models", "/docs/metrics", "/metricsx"].filter(isHidden)).toEqual([]);
  });
  it("the proxy's own answers have the form and links of the gateways' errors", () => {
    const base = all(read("deploy/env/gateway.env"), /^BASE_URL=(.+)$/gm)[0];
    const docs = all(read("deploy/nginx/inference.conf"), /set \$docs_url (\S+);/g)[0];
    expect(docs).toBe(`${base}/docs`);
    const answers = all(read("deploy/nginx/inference.conf"), /return \d+ '(\{.+\})';/g);
    expect(answers).toHaveLength(3);
    for (const answer of answers) {
      const { error } = errorSchema.parse(JSON.parse(answer.replace("$docs_url", docs ?? "")));
      expect(error.docs).toBe(`${docs}/errors#${error.code}`);
    }
  });
  it("`kubectl apply -l signer!=b` leaves gateway b alone", () => {
    for (const signer of ["a", "b"])
      expect(parse(read(`deploy/kubernetes/gateway-${signer}.yaml`)).metadata.labels).toEqual({ signer });
  });
  it("every target of Prometheus is a service of Kubernetes and of compose", () => {
    const targets = all(read("deploy/prometheus/prometheus.yaml"), /"((?:gateway|indexer)[\w-]*:\d+)"/g);
    const services = parseAllDocuments(read("deploy/kubernetes/gateways.yaml"))
      .map((one) => one.toJS())
      .filter(({ kind }) => kind === "Service")
      .map(({ metadata, spec }) => `${metadata.name}:${spec.ports[0].port}`);
    expect(targets).toHaveLength(3);
    expect(services).toEqual(expect.arrayContaining(targets));
    expect(Object.keys(COMPOSE.services)).toEqual(expect.arrayContaining(targets.map((one) => one.split(":")[0])));
  });
  it("manifests are sound YAML", () => {
    for (const text of MANIFESTS)
      for (const { errors } of parseAllDocuments(text)) expect(errors.map(({ message }) => message)).toEqual([]);
  });
});

describe("alerts and dashboard", () => {
  const rules = read("deploy/prometheus/alerts.yaml");
  const names = all(rules, /- alert: (\w+)/g);
  const exported = [
    ...all(read("api/observe/metrics.ts") + read("webhooks/service.ts"), /"(gateway_\w+)"/g),
    ...all(rules, /record: (\S+)/g),
  ];

  it.each([
    ["alerts.yaml", rules],
    ["alerts.test.yaml", read("deploy/prometheus/alerts.test.yaml")],
    ["dashboard.json", read("deploy/grafana/dashboard.json")],
  ])("%s names metrics that the gateway has", (_, text) => {
    const used = all(text, /\b(gateway_\w+|settlement:\w+)/g).map((name) => name.replace(/_(bucket|sum|count)$/, ""));
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter((name) => !exported.includes(name))).toEqual([]);
  });
  it("every metric of the gateway is in an alert or on the dashboard", () => {
    const watched = rules + read("deploy/grafana/dashboard.json");
    const forDiagnosis = ["gateway_webhook_attempt_seconds"];
    expect(exported.filter((name) => !watched.includes(name) && !forDiagnosis.includes(name))).toEqual([]);
  });
  it("every alert has a test, and its runbook exists", () => {
    expect(all(read("deploy/prometheus/alerts.test.yaml"), /alertname="(\w+)"/g).sort()).toEqual([...names].sort());
    const runbooks = all(rules, /runbook: ([^#\s}]+)/g);
    expect(runbooks.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("the limit of a quantile is a bucket's: between two buckets it would be a guess", () => {
    const buckets =
      read("api/observe/metrics.ts")
        .match(/^const SECONDS = \[(.*)\]/m)?.[1]
        ?.split(", ") ?? [];
    const limits = all(rules.replaceAll(/>-\n\s*/g, ""), /expr: histogram_quantile\(.*\) > ([\d.]+)/g);
    expect(limits).toHaveLength(3);
    expect(buckets).toEqual(expect.arrayContaining(limits));
  });

  const promtool = spawnSync("promtool", ["--version"]).status === 0;
  it("promtool: each fault raises its alert, a quiet hour raises none", ({ skip }) => {
    skip(!promtool, "promtool, which evaluates the rules, is not installed");
    const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", "alerts.test.yaml"], {
      cwd: join(ROOT, "deploy/prometheus"),
      encoding: "utf8",
    });
    expect(status, stdout + stderr).toBe(0);
  });
});
