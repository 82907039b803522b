/** The load balancer of the drills: which gateway gets requests. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { Balancer } from "../support/balancer.ts";

let gateway: Server;
let balancer: Balancer;
let says: "ready" | "not ready" | "nothing";
let looks: number;

async function open(first: typeof says): Promise<string> {
  [says, looks] = [first, 0];
  gateway = createServer((request, response) => {
    if (request.url !== "/readyz") return void response.end("served");
    looks += 1;
    if (says !== "nothing") response.writeHead(says === "ready" ? 200 : 503).end(says);
  }).listen(0, "127.0.0.1");
  await once(gateway, "listening");
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  balancer = await Balancer.open([url]);
  return url;
}
afterEach(() => {
  balancer.close();
  gateway.close();
  gateway.closeAllConnections();
});

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
