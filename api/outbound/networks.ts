import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** An address and the number of its bits that count. */
export type Network = readonly [Address, number];

const network = (text: string): Network => ipaddr.parseCIDR(text);

/** What can be somebody's own network. Nothing else can be allowed: loopback, link-local and the like are this machine's and the cloud's. */
const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"].map(network);

/**
 * Where clouds keep credentials and controls inside ranges that can be allowed: Alibaba's metadata, those of Amazon and Google by IPv6. They
 * stay refused in whatever network was allowed.
 */
const METADATA = ["100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::/32"].map(network);

/**
 * Reads a comma-separated list of private networks, such as `10.1.0.0/16,fd12:3456::/48,10.2.0.7`.
 * @throws Error that names the entry by its place and says what is wrong.
 */
export function parseNetworks(text: string): Network[] {
  const entries = text.split(",").map((entry) => entry.trim());
  return entries.map((entry, index) => parseNetwork(entry, `entry ${index + 1}`));
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

/** Whether an address lies in one of the networks. */
export function isInside(address: Address, networks: readonly Network[]): boolean {
  return networks.some((one) => isIn(address, one));
}

export const isMetadata = (address: Address): boolean => isInside(address, METADATA);

function isIn(address: Address, [base, bits]: Network): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}
