import { type HttpTransport, type HttpTransportConfig, http } from "viem";
import { nodeAddress } from "./node-url.ts";

/** viem's transport to a node, with the user and password of its URL. */
export function nodeTransport(given: string, options: HttpTransportConfig = {}): HttpTransport {
  const { url, headers } = nodeAddress(given);
  return http(url, { ...options, fetchOptions: { headers } });
}
