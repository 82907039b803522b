/** The operator's own networks: what is listed may be asked, what is not stays refused. */
import type { LookupAddress } from "node:dns";
import { type Dispatcher, request } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { parseNetworks, whyRefused } from "../../../api/outbound/address.ts";
import { EndpointRefused, guardedAgent, parseEndpoint } from "../../../api/outbound/endpoint.ts";

const LIST = "10.1.0.0/16, fd12:3456::/48,192.168.7.9,100.64.0.0/10,fd00::/8";
const policy = { allowLocal: false, allowNetworks: parseNetworks(LIST) };

describe("with listed networks", () => {
  it.each([
    "10.1.0.1",
    "10.1.255.254",
    "192.168.7.9",
    "100.64.0.1",
    "fd12:3456::7",
    "fd34::1",
    "::ffff:10.1.2.3",
    "64:ff9b::10.1.2.3",
    "8.8.8.8",
  ])("%s may be asked", (address) => {
    expect(whyRefused(address, policy)).toBeNull();
  });

  it.each([
    ["beside the listed network", "10.2.0.1"],
    ["beside the listed address", "192.168.7.8"],
    ["another private range", "172.16.0.1"],
    ["beside, mapped", "::ffff:10.2.0.1"],
    ["loopback", "127.0.0.1"],
    ["IPv6 loopback", "::1"],
    ["metadata of most clouds", "169.254.169.254"],
    ["container credentials of Amazon", "169.254.170.2"],
    ["metadata of Alibaba, inside a listed network", "100.100.100.200"],
    ["metadata of Amazon, inside a listed network", "fd00:ec2::254"],
    ["metadata of Google, inside a listed network", "fd20:ce::254"],
    ["metadata of Alibaba, mapped", "::ffff:100.100.100.200"],
    ["host agent of Azure", "168.63.129.16"],
    ["link-local", "fe80::1"],
  ])("%s is refused (%s)", (_name, address) => {
    expect(whyRefused(address, policy)).toContain(address);
  });

  it("names of a site may be named, names of this machine not; HTTPS stays", () => {
    for (const url of [
      "https://10.1.0.5:8443/gpu",
      "https://gpu.prod.internal/",
      "https://worker.pool.svc.cluster.local/",
    ]) {
      expect(parseEndpoint(url, policy).href).toBe(url);
      expect(() => parseEndpoint(url, { allowLocal: false })).toThrow(EndpointRefused);
    }
    for (const url of ["http://10.1.0.5/", "https://10.2.0.5/", "https://localhost/", "https://a.test/"]) {
      expect(() => parseEndpoint(url, policy)).toThrow(EndpointRefused);
    }
  });
});

describe("a connection", () => {
  let agents: Dispatcher[] = [];
  afterEach(async () => {
    await Promise.all(agents.map((agent) => agent.destroy()));
    agents = [];
  });
  const ask = (networks: string, addresses: LookupAddress[]) => {
    const agent = guardedAgent({
      allowLocal: false,
      allowNetworks: parseNetworks(networks),
      resolve: async () => addresses,
      connectTimeoutMs: 500,
    });
    agents.push(agent);
    return request(`https://gpu.prod.internal/`, { dispatcher: agent });
  };

  it("is refused when one address of the name is outside of the list", async () => {
    const addresses = [
      { address: "10.1.0.1", family: 4 },
      { address: "10.2.0.1", family: 4 },
    ];
    await expect(ask("10.1.0.0/16", addresses)).rejects.toMatchObject({ code: "ENDPOINT_REFUSED" });
  });

  it("is refused when the name has more addresses than anybody needs", async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => ({ address: `10.1.0.${n}`, family: 4 }));
    await expect(ask("10.1.0.0/16", many(33))).rejects.toThrow("has 33 addresses; at most 32 are tried");
  });

  it("is tried to a listed address, and to the same one not without the list", async () => {
    // Nobody is there: what matters is who says no.
    const nobody = [{ address: "fdb7:9e11:40d3::1", family: 6 }];
    const refused = { code: "ENDPOINT_REFUSED" };
    await expect(ask("fdb7:9e11:40d3::/48", nobody)).rejects.not.toMatchObject(refused);
    await expect(ask("fdb7:9e11:40d4::/48", nobody)).rejects.toMatchObject(refused);
  });
});

it.each([
  ["10.0.0.0/33", "entry 1 is not a network"],
  ["10.1/16", "entry 1 is not a network"],
  ["10.1.0.0/16,", "entry 2 is not a network"],
  ["10.1.0.0/16;10.2.0.0/16", "entry 1 is not a network"],
  ["vpc", "entry 1 is not a network"],
  ["10.1.0.0/16,10.2.3.4/16", "entry 2 has bits beyond its prefix: the network is 10.2.0.0/16"],
  ["fd12::1/48", "entry 1 has bits beyond its prefix: the network is fd12::/48"],
  ["0.0.0.0/0", "entry 1 is not inside"],
  ["::/0", "entry 1 is not inside"],
  ["10.0.0.0/7", "entry 1 is not inside"],
  ["127.0.0.0/8", "entry 1 is not inside"],
  ["169.254.0.0/16", "entry 1 is not inside"],
  ["fe80::/10", "entry 1 is not inside"],
  ["8.8.8.0/24", "entry 1 is not inside"],
  ["::ffff:10.0.0.0/104", "entry 1 is not inside"],
])("the list %s is refused", (text, why) => {
  expect(() => parseNetworks(text)).toThrow(why);
});
