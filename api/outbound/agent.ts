import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import type { EndpointPolicy } from "./address.ts";
import { refuseAddress, refuseScheme } from "./endpoint.ts";
import { dnsResolve, type Resolve } from "./resolve.ts";

export type GuardedAgentOptions = EndpointPolicy & {
  /** Time for name, connection and TLS together. Default 5 s. */
  connectTimeoutMs?: number;
  /** Most connections to one origin at once. Default 8. */
  connections?: number;
  /** How names are resolved; tests put their own here. */
  resolve?: Resolve;
} & Pick<Agent.Options, "keepAliveTimeout" | "headersTimeout" | "bodyTimeout" | "pipelining">;

/**
 * A dispatcher for requests to endpoints that strangers name (webhooks, workers). Whatever the URL says, a connection is made only
 * with HTTPS and only to addresses that the policy allows: literal ones are checked before connecting, names where Node asks for their addresses.
 * All addresses of a name must pass, and the socket connects to those very addresses, so a second answer of the DNS (rebinding) plays no
 * part. Redirects are not followed (undici's `request` does not), and proxies of the environment are not used.
 *
 * A refused request rejects with EndpointRefused. Bodies are as long as the peer likes: read them with `readBounded`.
 */
export function guardedAgent(options: GuardedAgentOptions): Agent {
  const { allowLocal, allowNetworks = [], ...others } = options;
  const { connectTimeoutMs = 5_000, connections = 8, resolve = dnsResolve(), ...rest } = others;
  const policy = { allowLocal, allowNetworks };
  const connect = buildConnector({
    allowH2: false,
    timeout: connectTimeoutMs,
    lookup: guardedLookup(policy, resolve),
  });
  return new Agent({
    connections,
    ...rest,
    connect: (target, callback) => {
      try {
        refuseScheme(target.protocol, policy);
        // Node connects to a literal address without a lookup.
        if (isIP(target.hostname) !== 0) refuseAddress(target.hostname, policy);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      connect(target, callback);
    },
  });
}

/** Resolves a name for `net.connect`; fails if one of its addresses is refused. */
function guardedLookup(policy: EndpointPolicy, resolve: Resolve): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host)
      .then((addresses) => {
        for (const { address } of addresses) refuseAddress(address, policy);
        return addresses;
      })
      .then(
        (addresses) => {
          const [first] = addresses;
          if (first === undefined) callback(new Error(`${host} has no address`), "");
          else if (all) callback(null, addresses);
          else callback(null, first.address, first.family);
        },
        (error: Error) => callback(error, ""),
      );
  };
}
