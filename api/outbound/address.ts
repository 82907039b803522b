import ipaddr from "ipaddr.js";
import { isInside, isMetadata, type Network } from "./networks.ts";

/**
 * Which endpoints may be asked. `allowLocal` is the development switch: loopback addresses and plain HTTP as well. `allowNetworks` are private
 * networks in which endpoints may be, over HTTPS as everywhere.
 */
export type EndpointPolicy = { allowLocal: boolean; allowNetworks?: readonly Network[] };

// Ranges that no registry calls special and that are the inside of a cloud all the same.
const CLOUD_INTERNAL = [ipaddr.parseCIDR("168.63.129.16/32")]; // Azure: DNS, DHCP and the host's agent

/**
 * Why an address must not be connected to, in words for the endpoint's owner; null if it may. Only globally routable unicast
 * is allowed, and the operator's own networks. An IPv4 address inside an IPv6 one (mapped, NAT64) is judged as what it leads to; tunnels (6to4, Teredo) are refused.
 */
export function whyRefused(address: string, policy: EndpointPolicy): string | null {
  if (!ipaddr.isValid(address)) return `${address} is not an IP address`;
  const parsed = embedded(ipaddr.parse(address));
  const range = parsed.range();
  if (range === "loopback") return policy.allowLocal ? null : `${address} is a loopback address`;
  if (isMetadata(parsed)) return `${address} is an internal address of a cloud`;
  if (isInside(parsed, policy.allowNetworks ?? [])) return null;
  if (range !== "unicast") return `${address} is not a public address (${NAMES[range] ?? range})`;
  if (parsed.kind() === "ipv6" && !parsed.match(GLOBAL_UNICAST))
    return `${address} is not a public address (unassigned)`;
  if (CLOUD_INTERNAL.some((block) => parsed.kind() === block[0].kind() && parsed.match(block))) {
    return `${address} is an internal address of a cloud`;
  }
  return null;
}

const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");

const NAMES: Record<string, string> = {
  private: "a private network",
  linkLocal: "link-local, where clouds keep their metadata",
  uniqueLocal: "a private network",
  carrierGradeNat: "shared by a carrier's customers",
  unspecified: "unspecified",
};

/** The IPv4 address that an IPv6 one stands for: `::ffff:a.b.c.d` and the well-known NAT64 prefix `64:ff9b::/96`. */
function embedded(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === "ipv4") return address;
  const six = address as ipaddr.IPv6;
  if (!six.isIPv4MappedAddress() && !six.match(NAT64)) return six;
  return new ipaddr.IPv4(six.toByteArray().slice(12));
}

const NAT64 = ipaddr.parseCIDR("64:ff9b::/96") as [ipaddr.IPv6, number];
