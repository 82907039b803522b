/**
 * Link previews (Open Graph): what a chat or a search shows of a link to the application. A job's has a picture of its charge, which says what
 * the index says, and no more than the chain shows everybody. Whether the chain bears it out is for the page, in the reader's own browser.
 */
import { createRequire } from "node:module";
import { type RequestHandler, type Response, Router } from "express";
import type { Config } from "../../api/config.ts";
import { getJob, type IndexedJob, ifIndexed } from "../../api/db/index-reads.ts";
import type { Reader } from "../../api/db/pool.ts";
import { ApiError, quoted } from "../../api/errors.ts";
import { burstLimit } from "../../api/routes/limits.ts";
import { addressOf } from "../../api/routes/request.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";
import { usdgValue } from "../../protocol/money.ts";
import { FairLimit } from "../../shared/fair-limit.ts";
import { AnswerCache } from "./answer-cache.ts";

/**
 * The types that we use of `@takumi-rs/core`. Its own types are React's, which take the names of a browser's elements for the whole
 * project.
 */
type Style = Record<string, string | number>;
type Node = { style: Style } & ({ type: "text"; text: string } | { type: "container"; children: Node[] });
type Renderer = { render(picture: Node, options: typeof SIZE & { format: "png" }): Promise<Buffer> };

const NAME = "Credit-metered inference";
const CLAIM = "Chat completions whose every charge you can check";
const ABOUT =
  "An OpenAI-compatible chat API for prepaid credits. A contract locks each request's price and pays the exact charge; everybody can check it.";
const SIZE = { width: 1200, height: 630 };

/** Pictures that one address may have in a second, and that wait to be drawn; one takes 50 ms of a thread. */
const PICTURES_PER_SECOND = 5;
const MOST_WAITING = 20;
/** After each picture nothing is drawn for this multiple of the time it took, so that drawing never takes more than a quarter of a processor. */
const REST = 3;
/** All pictures that are kept: each has some 20 kB. A job's can change until its disputes are over. */
const KEPT_BYTES = 8 * 1024 * 1024;
const KEPT_MS = 60_000;

/** Elements for the head of a page of the application. `path`: of the page. */
export function previewTags({ APP_URL }: Pick<Config, "APP_URL">): (path: string) => string {
  const { origin } = new URL(APP_URL);
  return (path) => {
    const job = /^\/app\/jobs\/(job_[0-9a-f]{32})$/.exec(path)?.[1];
    const [title, about, picture] =
      job === undefined
        ? [`${NAME}: ${CLAIM.toLowerCase()}`, ABOUT, "front"]
        : [
            `The charge for job ${job.slice(0, 12)}…${job.slice(-4)}`,
            "What it cost, who answered, and the transactions that settled it. Your browser checks all of it against the chain.",
            `jobs/${job}`,
          ];
    const properties = {
      "og:site_name": NAME,
      "og:type": "website",
      "og:title": title,
      "og:description": about,
      "og:image": `${APP_URL}/api/previews/${picture}.png`,
      "og:image:type": "image/png",
      "og:image:width": SIZE.width,
      "og:image:height": SIZE.height,
      "og:image:alt": title,
      ...(job === undefined && path !== "/" ? {} : { "og:url": origin + path }),
    };
    const tags = Object.entries(properties).map(([name, content]) => `<meta property="${name}" content="${content}">`);
    return `${tags.join("")}<meta name="twitter:card" content="summary_large_image">`;
  };
}

/** Makes the function that draws pictures. It loads the library with the first picture: nothing else of the gateway needs the library. */
function rendered(): (picture: Node) => Promise<Buffer> {
  let renderer: Renderer | undefined;
  return (picture) => {
    renderer ??= new (createRequire(import.meta.url)("@takumi-rs/core").Renderer)() as Renderer;
    return renderer.render(picture, { ...SIZE, format: "png" });
  };
}

type PreviewParts = { reader: Reader; config: Config; render?: ReturnType<typeof rendered> };

/**
 * Below /app/api/previews:
 *   /front.png            what the service is
 *   /jobs/{job_id}.png    the charge of a job
 */
export function previewRoutes({ reader, config, render = rendered() }: PreviewParts): Router {
  const pictures = new AnswerCache<Buffer>({ keptMs: () => KEPT_MS, bytes: KEPT_BYTES, encode: (png) => png });
  /** One at a time: the threads that draw are those that read files and compress. */
  const drawing = new FairLimit({
    all: 1,
    waiting: MOST_WAITING,
    refusal: () =>
      new ApiError("rate_limited", `More than ${MOST_WAITING} pictures wait to be drawn; ask again in a second.`, {
        details: { retry_after: 1 },
      }),
  });
  /** The picture, when the turn of those who ask from this address has come. */
  const draw = (picture: Node, address: string): Promise<Buffer> =>
    drawing.run(address, () => render(picture), { restMs: (tookMs) => REST * tookMs });

  const job: RequestHandler = async (request, response) => {
    const jobId = String(request.params.job_id);
    const id = fromApiJobId(jobId);
    const row = id === null ? null : await ifIndexed(getJob(reader, id), null);
    if (row === null) throw new ApiError("job_not_found", `There is no job ${quoted(jobId)} on the chain (yet).`);
    const charge = chargeOf(row);
    const make = () => draw(jobPicture(jobId, charge, config), addressOf(request));
    send(response, await pictures.get(jobId + JSON.stringify(charge), make));
  };
  /** Made of settings alone: it is drawn once. */
  let frontPicture: Promise<Buffer> | undefined;
  const front: RequestHandler = async (request, response) => {
    const says = "OpenAI-compatible. Prepaid credits. Settled by a contract.";
    const picture = frame(config, [
      text(CLAIM, { fontSize: 76, fontWeight: 600, lineHeight: 1.15 }),
      text(says, { color: SOFT }),
    ]);
    frontPicture ??= draw(picture, addressOf(request)).catch((error) => {
      frontPicture = undefined;
      throw error;
    });
    send(response, await frontPicture);
  };

  return Router()
    .use(burstLimit(Math.min(config.BURST_PER_SECOND, PICTURES_PER_SECOND)))
    .get("/front.png", front)
    .get("/jobs/:job_id.png", job);
}

/** A page of another site may show the picture, which is public. */
function send(response: Response, png: Buffer): void {
  response.setHeader("cache-control", `public, max-age=${KEPT_MS / 1_000}`);
  response.setHeader("cross-origin-resource-policy", "cross-origin");
  response.type("png").send(png);
}

/** The words of a job's picture. */
export type Charge = { status: JobState; headline: string; facts: string[]; lockedAt: string };

const IN_WORK = new Set<JobState>(["pending", "processing", "settling"]);

/** `headline`: what it cost in the end; a dispute can bring a charge back. */
export function chargeOf({ status, creditsCharged, creditsCompensated, model, tier, ...row }: IndexedJob): Charge {
  const credits = creditsCharged - creditsCompensated;
  const cost = `${credits.toLocaleString("en-US")} ${credits === 1 ? "credit" : "credits"} charged`;
  const headline = IN_WORK.has(status) ? "Not charged yet" : credits === 0 ? "Nothing was charged" : cost;
  return {
    status,
    headline,
    facts: [
      ...(credits > 0 ? [`${usdgValue(credits).toFixed(2)} USDG`] : []),
      `${model}, ${tier} tier`,
      ...(row.billedTokens === null ? [] : [`${row.billedTokens.toLocaleString("en-US")} tokens`]),
    ],
    lockedAt: `${new Date(row.createdAt * 1_000).toISOString().slice(0, 16).replace("T", " ")} UTC`,
  };
}

// Colours of the application by night (web/src/styles/base.css).
const [PAPER, INK, SOFT, ACCENT, ON_ACCENT] = ["#101413", "#e7ece9", "#a1ada7", "#5fcea0", "#06231a"];
const TONES: Record<JobState, string> = {
  pending: "#93bdf6",
  processing: "#93bdf6",
  settling: "#93bdf6",
  settled: "#6fd3a3",
  failed: "#f2958c",
  refunded: "#e9bc69",
  disputed: "#e9bc69",
};

const text = (content: string, style: Style): Node => ({ type: "text", text: content, style });
const box = (style: Style, children: Node[]): Node => ({
  type: "container",
  style: { display: "flex", ...style },
  children,
});

/** The service's sign and name, something below, and at the foot the chain. */
function frame({ CHAIN_NAME, deployment, APP_URL }: Config, children: Node[], at: string[] = []): Node {
  const bar = (width: number): Node => box({ width, height: 6, borderRadius: 3, backgroundColor: ON_ACCENT }, []);
  const sign = box(
    {
      flexDirection: "column",
      gap: 8,
      padding: "16px 16px",
      width: 64,
      height: 64,
      borderRadius: 16,
      backgroundColor: ACCENT,
    },
    [bar(32), bar(22), bar(32)],
  );
  return box(
    {
      flexDirection: "column",
      justifyContent: "space-between",
      width: "100%",
      height: "100%",
      padding: "64px 72px",
      backgroundColor: PAPER,
      color: INK,
      fontSize: 34,
    },
    [
      box({ alignItems: "center", gap: 22 }, [sign, text(NAME, { fontWeight: 600 })]),
      box({ flexDirection: "column", gap: 22 }, children),
      text([...at, CHAIN_NAME ?? `Chain ${deployment.chainId}`, new URL(APP_URL).host].join("  ·  "), {
        color: SOFT,
        fontSize: 28,
      }),
    ],
  );
}

function jobPicture(jobId: string, { status, headline, facts, lockedAt }: Charge, config: Config): Node {
  const tone = {
    color: PAPER,
    backgroundColor: TONES[status],
    padding: "4px 20px",
    borderRadius: 999,
    fontSize: 30,
    fontWeight: 600,
  };
  const content = [
    box({ alignItems: "center", gap: 20 }, [text(status, tone), text(jobId, { color: SOFT, fontSize: 28 })]),
    text(headline, { fontSize: 92, fontWeight: 600 }),
    text(facts.join("  ·  "), {}),
  ];
  return frame(config, content, [lockedAt]);
}
