/** Which addresses the gateway connects to when somebody else names the endpoint: webhooks' receivers and workers. */
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** An address and the number of its bits that count. */
export type Network = readonly [Address, number];

/**
 * Which endpoints may be asked. `allowLocal` is the development switch: loopback addresses as well, over plain HTTP too.
 * `allowNetworks` are private networks in which endpoints may be, over HTTPS as everywhere.
 */
export type EndpointPolicy = { allowLocal: boolean; allowNetworks?: readonly Network[] };

const network = (text: string): Network => ipaddr.parseCIDR(text);
const networks = (...texts: string[]): Network[] => texts.map(network);

/**
 * Private networks, which an operator may allow. Loopback, link-local and the like belong to this machine and its cloud, and stay refused.
 */
const PRIVATE = networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7");

/**
 * The addresses at which clouds keep credentials and controls, though no registry calls these ranges special. They stay refused inside an
 * allowed network: metadata of Alibaba, Amazon (IPv6) and Google (IPv6), and Azure's host agent.
 */
const CLOUD = networks("100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::/32", "168.63.129.16/32");

const GLOBAL_UNICAST = network("2000::/3");
const NAT64 = network("64:ff9b::/96");

const RANGE_NAMES: Record<string, string> = {
  private: "a private network",
  linkLocal: "link-local, where clouds keep their metadata",
  uniqueLocal: "a private network",
  carrierGradeNat: "shared by a carrier's customers",
  unspecified: "unspecified",
};

/**
 * Why an address must not be connected to, in words for the endpoint's owner; null if it may. Only globally routable
 * unicast and the operator's own networks are allowed. Tunnels (6to4, Teredo) are refused.
 */
export function whyRefused(address: string, { allowLocal, allowNetworks = [] }: EndpointPolicy): string | null {
  if (!ipaddr.isValid(address)) return `${address} is not an IP address`;
  const parsed = embedded(ipaddr.parse(address));
  const range = parsed.range();
  if (range === "loopback") return allowLocal ? null : `${address} is a loopback address`;
  if (isInside(parsed, CLOUD)) return `${address} is an internal address of a cloud`;
  if (isInside(parsed, allowNetworks)) return null;
  if (range !== "unicast") return `${address} is not a public address (${RANGE_NAMES[range] ?? range})`;
  if (parsed.kind() === "ipv6" && !isIn(parsed, GLOBAL_UNICAST)) {
    return `${address} is not a public address (unassigned)`;
  }
  return null;
}

/** True if an IP address (not a name) is a loopback address of this machine. */
export const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && embedded(ipaddr.parse(address)).range() === "loopback";

/** The address, or the IPv4 address that it leads to: `::ffff:a.b.c.d`, and the well-known NAT64 prefix. */
function embedded(address: Address): Address {
  const mapped = address.kind() === "ipv6" && (address as ipaddr.IPv6).isIPv4MappedAddress();
  return mapped || isIn(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

const isInside = (address: Address, all: readonly Network[]) => all.some((one) => isIn(address, one));

const isIn = (address: Address, [base, bits]: Network) => address.kind() === base.kind() && address.match(base, bits);

/**
 * Reads a comma-separated list of private networks, such as `10.1.0.0/16,fd12:3456::/48,10.2.0.7`.
 * @throws Error that names the entry by its place and says what is wrong.
 */
export function parseNetworks(text: string): Network[] {
  return text.split(",").map((entry, index) => parseNetwork(entry.trim(), `entry ${index + 1}`));
}

function parseNetwork(entry: string, name: string): Network {
  const cidr = entry.includes("/") ? entry : `${entry}/${entry.includes(":") ? 128 : 32}`;
  // Four full numbers: `10.1/16` means 10.0.0.1/16 to some parsers.
  if (!(ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr) || ipaddr.IPv6.isValidCIDR(cidr))) {
    throw new Error(`${name} is not a network such as 10.1.0.0/16 or fd12:3456::/48`);
  }
  const parsed = network(cidr);
  const [address, bits] = parsed;
  if (!PRIVATE.some((range) => isIn(address, range) && bits >= range[1])) {
    throw new Error(
      `${name} is not inside ${PRIVATE.map((range) => range.join("/")).join(", ")}: no other can be allowed`,
    );
  }
  const first = (address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(cidr);
  if (first.toString() !== address.toString()) {
    throw new Error(`${name} has bits beyond its prefix: the network is ${first.toString()}/${bits}`);
  }
  return parsed;
}
