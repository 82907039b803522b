/** The load balancer of the drills: which gateway gets requests. */
import { expect, it, onTestFinished } from "vitest";
import { Balancer } from "../support/balancer.ts";
import { serve } from "./support/serve.ts";

let balancer: Balancer;
let says: "ready" | "not ready" | "nothing";
let looks: number;

async function open(first: typeof says): Promise<string> {
  [says, looks] = [first, 0];
  const url = await serve((request, response) => {
    if (request.url !== "/readyz") return void response.end("served");
    looks += 1;
    if (says !== "nothing") response.writeHead(says === "ready" ? 200 : 503).end(says);
  });
  balancer = await Balancer.open([url]);
  onTestFinished(() => balancer.close());
  return url;
}

const ask = async () => (await fetch(balancer.url)).text();

it("lets a gateway in when it is ready, and says until then what it said", async () => {
  const url = await open("not ready");
  expect(await ask()).toContain(`No gateway is ready: ${url}: not ready`);
  says = "ready";
  await balancer.letsIn(url);
  expect(await ask()).toBe("served");
});

it("keeps a gateway that is late with one check, and no longer", async () => {
  await open("ready");
  says = "nothing";
  const before = looks;
  // The next check begins when the one before was given up.
  while (looks < before + 2) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await ask()).toBe("served");
  while (looks < before + 3) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await ask()).toContain("No gateway is ready");
});
