/** How to ask a node: its address without user and password, and the headers that say them. */
export type NodeAddress = { url: string; headers: Record<string, string> };

/**
 * Splits a node's URL, which may name user and password: fetch refuses such a URL, undici drops them without a word. Throws an error that
 * names `setting`, and not the password, when the URL cannot be read.
 */
export function nodeAddress(given: string, setting = "RPC_URL"): NodeAddress {
  if (!URL.canParse(given)) throw new Error(`${setting} is not a URL`);
  const url = new URL(given);
  const { username, password } = url;
  if (username === "" && password === "") return { url: given, headers: {} };
  const credentials = `${decoded(username, setting)}:${decoded(password, setting)}`;
  url.username = "";
  url.password = "";
  return { url: url.href, headers: { authorization: `Basic ${base64(credentials)}` } };
}

/**
 * The fault of a setting that must be a node's URL, in words that name the setting and not its value; null if it has none. Called before anything
 * is started with the URL.
 */
export function nodeUrlFault(given: string, setting: string): string | null {
  try {
    nodeAddress(given, setting);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether {@link nodeAddress} takes the URL. */
export const isNodeUrl = (given: string): boolean => nodeUrlFault(given, "URL") === null;

/** Host and port of a node's URL, which may be shown: the rest may hold user, password or a key. */
export const nodeHost = (given: string): string => new URL(given).host;

/** The advice for an operator whose URL {@link isNodeUrl} refuses. */
export const NODE_URL_HELP =
  "a '%' in its user or password starts no escape: write each '%' as %25, '@' as %40, '/' as %2F";

function decoded(part: string, setting: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw new Error(`${setting}: ${NODE_URL_HELP}`, { cause: error });
  }
}

/** UTF-8 first: `btoa` takes Latin-1 only. Browsers have no Buffer. */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
