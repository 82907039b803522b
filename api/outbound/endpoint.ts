import { isIP } from "node:net";
import { type EndpointPolicy, whyRefused } from "./address.ts";

/** An endpoint that must not be asked: by its URL, or by an address its name resolves to. The message says why. */
export class EndpointRefused extends Error {
  readonly code = "ENDPOINT_REFUSED";
  constructor(reason: string) {
    super(reason);
    this.name = "EndpointRefused";
  }
}

/** Names that never leave a machine (RFC 6761), and names of a site (RFC 6762, RFC 8375, `.internal` as ICANN reserved it). */
const MACHINE_NAMES = /(^|\.)(localhost|test|invalid|onion)$/;
const SITE_NAMES = /(^|\.)(local|internal|home\.arpa)$/;

/**
 * Parses the URL of an endpoint and refuses what can be refused without asking the DNS: another scheme than HTTPS, a user name
 * or password, local names, addresses that are not public. `new URL` has turned decimal, octal and hexadecimal hosts into plain addresses by
 * then. Names are judged when they are connected to (`guardedAgent`), for only then is it known where they lead.
 * @throws EndpointRefused
 */
export function parseEndpoint(text: string, policy: EndpointPolicy): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new EndpointRefused("must be a URL, such as https://example.com/hook");
  refuseScheme(url.protocol, policy);
  if (url.username !== "" || url.password !== "") {
    throw new EndpointRefused("must not contain a user name or password: they would be kept and shown");
  }
  const host = hostOf(url);
  if (isIP(host) !== 0) refuseAddress(host, policy);
  else if (isLocalName(host, policy)) {
    throw new EndpointRefused(`${host} is a local name: the endpoint must be reachable on the public internet`);
  }
  return url;
}

/** Where private networks are allowed, names of a site may lead there; the address that they lead to is judged all the same. */
function isLocalName(host: string, { allowLocal, allowNetworks = [] }: EndpointPolicy): boolean {
  if (MACHINE_NAMES.test(host)) return !(allowLocal && isLocalhost(host));
  return SITE_NAMES.test(host) && allowNetworks.length === 0;
}

/** @throws EndpointRefused unless it is `https:`, or `http:` in development. */
export function refuseScheme(protocol: string, { allowLocal }: EndpointPolicy): void {
  if (protocol === "https:" || (allowLocal && protocol === "http:")) return;
  throw new EndpointRefused(`must be an https URL, not ${protocol}//`);
}

/** @throws EndpointRefused unless the address may be connected to. */
export function refuseAddress(address: string, policy: EndpointPolicy): void {
  const reason = whyRefused(address, policy);
  if (reason !== null) throw new EndpointRefused(reason);
}

export const isLocalhost = (host: string): boolean => /^(.+\.)?localhost\.?$/i.test(host);

/** Host of a URL without the brackets of IPv6 and without a final dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
