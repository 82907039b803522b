import { describe, expect, it } from "vitest";
import { whyRefused } from "../../../api/outbound/address.ts";

const refused = (address: string) => whyRefused(address, { allowLocal: false });

describe("addresses an endpoint must not have", () => {
  it.each([
    ["loopback", "127.0.0.1"],
    ["loopback, another", "127.8.8.8"],
    ["this network", "0.0.0.0"],
    ["this network, another", "0.1.2.3"],
    ["RFC 1918, 10/8", "10.1.2.3"],
    ["RFC 1918, 172.16/12", "172.31.255.254"],
    ["RFC 1918, 192.168/16", "192.168.1.1"],
    ["link-local, metadata of most clouds", "169.254.169.254"],
    ["container credentials of AWS", "169.254.170.2"],
    ["CGNAT", "100.64.0.1"],
    ["metadata of Alibaba, in CGNAT", "100.100.100.200"],
    ["metadata of Oracle, in 192.0.0.0/24", "192.0.0.192"],
    ["host agent of Azure", "168.63.129.16"],
    ["multicast", "224.0.0.1"],
    ["benchmarks", "198.18.0.1"],
    ["documentation", "203.0.113.5"],
    ["reserved", "250.1.1.1"],
    ["broadcast", "255.255.255.255"],
    ["IPv6 loopback", "::1"],
    ["IPv6 unspecified", "::"],
    ["IPv6 link-local", "fe80::1"],
    ["IPv6 link-local with a zone", "fe80::1%eth0"],
    ["IPv6 ULA", "fd12:3456::1"],
    ["metadata of AWS, ULA", "fd00:ec2::254"],
    ["IPv6 site-local", "fec0::1"],
    ["IPv6 multicast", "ff02::1"],
    ["IPv6 documentation", "2001:db8::1"],
    ["IPv6 not assigned", "4000::1"],
    ["IPv4-mapped loopback", "::ffff:127.0.0.1"],
    ["IPv4-mapped loopback, in hex", "::ffff:7f00:1"],
    ["IPv4-mapped metadata", "::ffff:169.254.169.254"],
    ["IPv4-compatible loopback", "::127.0.0.1"],
    ["IPv4-translated", "::ffff:0:10.0.0.1"],
    ["NAT64 of a private address", "64:ff9b::10.0.0.1"],
    ["NAT64 of the metadata service", "64:ff9b::a9fe:a9fe"],
    ["NAT64 with a prefix of local use", "64:ff9b:1::8.8.8.8"],
    ["6to4 of a private address", "2002:a00:1::1"],
    ["Teredo", "2001:0:a00:1::1"],
    ["no address", "example.com"],
  ])("%s: %s", (_name, address) => {
    expect(refused(address)).toContain(address);
  });

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])(
    "%s is public",
    (address) => {
      expect(refused(address)).toBeNull();
    },
  );

  it("development allows loopback and nothing else", () => {
    const dev = (address: string) => whyRefused(address, { allowLocal: true });
    expect(["127.0.0.1", "::1", "::ffff:127.0.0.1", "8.8.8.8"].map(dev)).toEqual([null, null, null, null]);
    for (const address of ["10.0.0.1", "169.254.169.254", "0.0.0.0", "fd00::1", "64:ff9b::10.0.0.1"]) {
      expect(dev(address)).toContain("not a public address");
    }
  });
});
