/** Shorter texts would blot out words that mean something else. */
const SHORTEST = 8;
/** A part of a path of this length is no name of a network. */
const LONG_PART = 16;

/** A text that must not be seen, with what is shown instead. */
export type Secret = readonly [text: string | undefined, shown: string];

/** Replaces secrets in a text, also those that a library put there. */
export type Redact = (text: string) => string;

/** A function that replaces these secrets wherever they stand, plain or in JSON. Those of less than eight characters stay. */
export function redactor(secrets: readonly Secret[]): Redact {
  const texts = new Map<string, string>();
  for (const [text, shown] of secrets) {
    if (text === undefined || text.length < SHORTEST) continue;
    texts.set(text, `[${shown}]`);
    texts.set(JSON.stringify(text).slice(1, -1), `[${shown}]`);
  }
  // A URL before its parts: one name says what stood there.
  const longestFirst = [...texts].sort(([a], [b]) => b.length - a.length);
  return (text) => longestFirst.reduce((rest, [secret, shown]) => rest.replaceAll(secret, shown), text);
}

type Output = Pick<NodeJS.WriteStream, "write">;

/** Redacts everything that this process prints from now on: its own lines, those of libraries in it, and the errors of both. */
export function redactOutput(redact: Redact, streams: readonly Output[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? redact(chunk) : chunk, ...rest)) as Output["write"];
  }
}

/**
 * The secret parts of the URL of a node or a model server: user and password, and keys in the path (`/v3/<key>`) or the query (`?apikey=`).
 * Libraries quote URLs with and without user and password (viem: `URL: https://…`), or parts of them. An address that holds nothing of that
 * kind (`http://127.0.0.1:8000/v1`) is no secret: none at all are named then.
 */
export function secretsOfUrl(given: string | undefined, shown: string): Secret[] {
  if (given === undefined || !URL.canParse(given)) return [];
  const url = new URL(given);
  const { username, password, pathname, search, searchParams } = url;
  const parts = pathname.split("/").filter(isKey);
  const holdsKey = parts.length > 0 || search !== "";
  if (username + password === "" && !holdsKey) return [];
  const login = password === "" ? username : password;
  const keys = [...parts, ...searchParams.values(), login];
  const credentials = `${username}:${password}`;
  const quoted = [given, url.href, ...(holdsKey ? [withoutLogin(given), `${pathname}${search}`] : [])];
  return [
    ...quoted.map((one): Secret => [one, shown]),
    ...[credentials, decoded(credentials), base64(decoded(credentials))].map((one): Secret => [one, shown]),
    ...keys.flatMap((key): Secret[] => [
      [key, shown],
      [decoded(key), shown],
    ]),
  ];
}

/** The URL without its user and password. */
export function withoutLogin(given: string): string {
  const url = new URL(given);
  url.username = "";
  url.password = "";
  return url.href;
}

/** The secret parts of a database's URL: the whole, as it holds the password, and the password; host, user and database's name are not. */
export function secretsOfDatabaseUrl(given: string | undefined, shown: string): Secret[] {
  if (given === undefined || !URL.canParse(given)) return [];
  const { password, searchParams } = new URL(given);
  const also = searchParams.get("password") ?? "";
  if (password + also === "") return [];
  return [[given, shown], ...[password, decoded(password), also].map((one): Secret => [one, "password"])];
}

/** Network names such as `eth-mainnet` are no keys, `abc12345` may be one. */
const isKey = (part: string): boolean => part.length >= LONG_PART || (part.length >= SHORTEST && /\d/.test(part));

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A '%' that starts no escape stands for itself.
    return text;
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
