import { type LookupAddress, promises } from "node:dns";
import { isLocalhost } from "./endpoint.ts";

/** All addresses of a host name; rejects if it has none. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

/**
 * Asks the DNS for A and AAAA records, on sockets of its own. Not `dns.lookup`: that occupies one of four threads for as long as a name
 * server is silent, so that a few hostile names would hold up every other endpoint. `/etc/hosts` says nothing here: it names local machines.
 */
export function dnsResolve({ timeoutMs = 2_000, tries = 2 } = {}): Resolve {
  const resolver = new promises.Resolver({ timeout: timeoutMs, tries });
  return async (host) => {
    if (isLocalhost(host)) return LOOPBACK;
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = [...found(four, 4), ...found(six, 6)];
    if (addresses.length > 0) return addresses;
    const failed = [four, six]
      .filter((result) => result.status === "rejected")
      .map((result) => result.reason as Failure);
    // "No such record" of one family says less than a failure of the other.
    throw failed.find((error) => !NOTHING.has(error.code ?? "")) ?? failed[0] ?? new Error(`${host} has no address`);
  };
}

type Failure = NodeJS.ErrnoException;
const NOTHING = new Set(["ENODATA", "ENOTFOUND"]);
const LOOPBACK: LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

function found(result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return result.status === "fulfilled" ? result.value.map((address) => ({ address, family })) : [];
}
