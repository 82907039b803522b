/** Section `page`. */
import { type CDPSession, chromium, type Page } from "playwright-core";
import { chromiumOptions } from "../scripts/dev/chromium.ts";
import { p50, type Section } from "./report.ts";
import type { System } from "./system.ts";

/** Lighthouse's slow phone: 1.6 Mbit/s with 150 ms to the server and back, and a processor a quarter as fast as this one. */
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const PROCESSOR = 4;
/** A page can be used once nothing has held it up for so long: no task over 50 ms, at most two requests on their way. */
const QUIET_MS = 5_000;
const MOST_REQUESTS = 2;

/** Times in ms since the navigation began. */
type View = { painted: number; interactive: number; bytes: number };
type Task = { end: number };

/** Time to the first contentful paint and time to interactive (Lighthouse's rule) of four pages, each visit with an empty cache. */
export async function page({ stack, target }: System, visits: number): Promise<Section> {
  const base = stack.info.base_url as string;
  const { id, tx } = await oneJob(target);
  const pages = {
    "front page": `${base}/`,
    job: `${base}/app/jobs/${id}`,
    transaction: `${base}/app/tx/${tx}`,
    governance: `${base}/app/governance`,
  };
  const browser = await chromium.launch(await chromiumOptions());
  const views = new Map<string, View[]>();
  try {
    for (const [name, url] of Object.entries(pages)) {
      const seen: View[] = [];
      views.set(name, seen);
      for (let n = 0; n < visits; n++) {
        const context = await browser.newContext();
        const shownPage = await context.newPage();
        const session = await context.newCDPSession(shownPage);
        await session.send("Network.enable");
        await session.send("Network.emulateNetworkConditions", NETWORK);
        await session.send("Emulation.setCPUThrottlingRate", { rate: PROCESSOR });
        seen.push(await visit(shownPage, session, url));
        await context.close();
      }
    }
  } finally {
    await browser.close();
  }
  const row = (name: string, what: string, of: (view: View) => number) => {
    const values = (views.get(name) ?? []).map(of);
    return { page: name, what, least: Math.min(...values), median: p50(values), most: Math.max(...values) };
  };
  return {
    title: `Pages at 1.6 Mbit/s, 150 ms, a processor ${PROCESSOR} times slower, ${visits} visits each`,
    rows: Object.keys(pages).flatMap((name) => [
      row(name, "first contentful paint, ms", ({ painted }) => painted),
      row(name, "interactive, ms", ({ interactive }) => interactive),
      row(name, "received until then, kB", ({ bytes }) => bytes / 1_000),
    ]),
  };
}

/** A job that is settled when somebody looks at it, and the transaction of its lock. */
async function oneJob({ url, headers, model }: System["target"]): Promise<{ id: string | null; tx: string | null }> {
  const messages = [{ role: "user", content: "Say hello." }];
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...headers(), "content-type": "application/json" },
    body: JSON.stringify({ model, messages }),
  });
  await reply.text();
  return { id: reply.headers.get("x-service-job-id"), tx: reply.headers.get("x-service-tx-hash") };
}

async function visit(shownPage: Page, session: CDPSession, url: string): Promise<View> {
  await shownPage.addInitScript(
    "window.longTasks = []; new PerformanceObserver((list) => { for (const { startTime, duration } of list.getEntries()) " +
      "longTasks.push({ end: startTime + duration }); }).observe({ type: 'longtask', buffered: true });",
  );
  /** When too many requests were on their way for the last time, and what came; by the browser's own clock, in seconds. */
  const running = new Set<string>();
  let [begun, busyUntil, bytes] = [0, 0, 0];
  const received: [at: number, bytes: number][] = [];
  session.on("Network.requestWillBeSent", ({ requestId, timestamp }) => {
    begun ||= timestamp;
    running.add(requestId);
  });
  const over = ({ requestId, timestamp }: { requestId: string; timestamp: number }) => {
    if (running.size > MOST_REQUESTS) busyUntil = timestamp;
    running.delete(requestId);
  };
  session.on("Network.loadingFinished", (event) => {
    received.push([event.timestamp, event.encodedDataLength]);
    over(event);
  });
  session.on("Network.loadingFailed", over);
  await shownPage.goto(url, { waitUntil: "domcontentloaded" });
  await shownPage.locator("h1").waitFor();
  for (;;) {
    await shownPage.waitForTimeout(250);
    const { now, painted, tasks } = await shownPage.evaluate<{ now: number; painted: number; tasks: Task[] }>(
      "({ now: performance.now(), painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity, tasks: longTasks })",
    );
    const network = busyUntil === 0 ? 0 : (busyUntil - begun) * 1_000;
    const interactive = Math.max(painted, ...tasks.map(({ end }) => end).filter((end) => end < painted + 30_000));
    if (now - Math.max(interactive, network) < QUIET_MS) continue;
    for (const [at, size] of received) if ((at - begun) * 1_000 <= interactive) bytes += size;
    return { painted, interactive, bytes };
  }
}
