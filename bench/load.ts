import { Agent, request } from "undici";

/** A server to which requests go. `headers` is called for each request: accounts take turns. */
export type Target = { name: string; url: string; headers: () => Record<string, string>; model: string };

/** One answered request, times in milliseconds. */
export type Sample = {
  /** 0 where the connection broke. */
  status: number;
  /** The code of the error in the body, or of the broken connection; null without an error. */
  code: string | null;
  /** To the first byte of the answer's body. */
  first: number;
  total: number;
  /** Time of each stage, where the server tells it (`Server-Timing`), in its order. */
  stages: Record<string, number>;
  /** Time this request waited for the chain: the stage `lock`. */
  chain: number;
};

/** So many requests, for so long, or as long as they are `wanted`. */
export type Plan = { concurrency: number; stream: boolean } & (
  | { requests: number }
  | { seconds: number }
  | { wanted: () => boolean }
);

/** A closed loop: `concurrency` clients, each sending the next request when its last one is answered. */
export async function load(
  target: Target,
  plan: Plan,
  onSample: (sample: Sample) => void = () => {},
): Promise<Sample[]> {
  const agent = new Agent({ connections: plan.concurrency, keepAliveTimeout: 60_000 });
  const samples: Sample[] = [];
  const until = "seconds" in plan ? performance.now() + plan.seconds * 1000 : Number.POSITIVE_INFINITY;
  let left = "requests" in plan ? plan.requests : Number.POSITIVE_INFINITY;
  const isWanted = "wanted" in plan ? plan.wanted : () => left > 0 && performance.now() < until;
  const client = async (): Promise<void> => {
    while (isWanted()) {
      left -= 1;
      const sample = await once(target, plan.stream, agent);
      samples.push(sample);
      onSample(sample);
    }
  };
  try {
    await Promise.all(Array.from({ length: plan.concurrency }, client));
  } finally {
    await agent.close();
  }
  return samples;
}

async function once(target: Target, stream: boolean, agent: Agent): Promise<Sample> {
  const body = JSON.stringify({
    model: target.model,
    stream,
    messages: [{ role: "user", content: "Count to twelve, then to seven, then stop." }],
  });
  const startedAt = performance.now();
  let first = Number.NaN;
  try {
    const response = await request(`${target.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...target.headers() },
      body,
      dispatcher: agent,
    });
    const pieces: Buffer[] = [];
    for await (const piece of response.body) {
      if (Number.isNaN(first)) first = performance.now() - startedAt;
      if (response.statusCode !== 200) pieces.push(piece);
    }
    const total = performance.now() - startedAt;
    const { statusCode: status, headers } = response;
    const code = status === 200 ? null : codeOf(Buffer.concat(pieces).toString("utf8"));
    const stages = stagesOf(headers["server-timing"]);
    return { status, code, first, total, stages, chain: stages["lock"] ?? 0 };
  } catch (error) {
    // A connection that breaks is a failed request of the measured service, not the end of the measurement.
    const code = String(Object(error).code ?? error);
    return { status: 0, code, first, total: performance.now() - startedAt, stages: {}, chain: 0 };
  }
}

function codeOf(body: string): string {
  try {
    return String((JSON.parse(body) as { error?: { code?: string } }).error?.code);
  } catch {
    return "no JSON";
  }
}

function stagesOf(header: string | string[] | undefined): Record<string, number> {
  const found = String(header ?? "").matchAll(/([a-z-]+);dur=([\d.]+)/g);
  return Object.fromEntries([...found].map(([, name, ms]) => [name, Number(ms)]));
}
