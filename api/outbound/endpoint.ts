/** Requests to endpoints that somebody else names: their URLs, and the connections to them. */
import { constants } from "node:crypto";
import { type LookupAddress, promises } from "node:dns";
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { type AgentOptions, Agent as HttpsAgent, request as requestHttps } from "node:https";
import { connect as connectTcp, isIP, type LookupFunction, type NetConnectOpts, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { Agent, buildConnector } from "undici";
import { boundInterim } from "../../shared/kept-connections.ts";
import { Turns } from "../../shared/turns.ts";
import { type EndpointPolicy, isLoopback, whyRefused } from "./address.ts";

/** An endpoint that must not be asked: by its URL, or by an address its name resolves to. The message says why. */
export class EndpointRefused extends Error {
  readonly code = "ENDPOINT_REFUSED";
  constructor(reason: string) {
    super(reason);
    this.name = "EndpointRefused";
  }
}

/** Names that never leave a machine (RFC 6761). */
const MACHINE_NAMES = /(^|\.)(localhost|test|invalid|onion)$/;
/** Names of a site (RFC 6762, RFC 8375, ICANN's `.internal`), allowed where private networks are. */
const SITE_NAMES = /(^|\.)(local|internal|home\.arpa)$/;

/**
 * Parses the URL of an endpoint and refuses what can be refused without asking the DNS: another scheme than HTTPS, a
 * user name or password, local names, addresses that are not public. `new URL` turns decimal, octal and hexadecimal
 * hosts into plain addresses. `guardedAgent` judges names when it connects to them.
 * @throws EndpointRefused
 */
export function parseEndpoint(text: string, policy: EndpointPolicy): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new EndpointRefused("must be a URL, such as https://example.com/hook");
  // Without the brackets of IPv6 and a final dot.
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  refuseScheme(url.protocol, host, policy);
  if (url.username !== "" || url.password !== "") {
    throw new EndpointRefused("must not contain a user name or password: they would be kept and shown");
  }
  if (isIP(host) !== 0) refuseAddress(host, policy);
  else if (isLocalName(host, policy)) {
    throw new EndpointRefused(`${host} is a local name: the endpoint must be reachable on the public internet`);
  }
  return url;
}

function isLocalName(host: string, { allowLocal, allowNetworks = [] }: EndpointPolicy): boolean {
  if (MACHINE_NAMES.test(host)) return !(allowLocal && isLocalhost(host));
  return SITE_NAMES.test(host) && allowNetworks.length === 0;
}

const isLocalhost = (host: string): boolean => /^(.+\.)?localhost\.?$/i.test(host);

/** Plain HTTP is for this machine alone: on a network anyone could read and change what is said. */
function refuseScheme(protocol: string, host: string, { allowLocal }: EndpointPolicy): void {
  const isLocal = isLocalhost(host) || isLoopback(host);
  if (protocol === "https:" || (allowLocal && protocol === "http:" && isLocal)) return;
  throw new EndpointRefused(`must be an https URL, not ${protocol}//`);
}

function refuseAddress(address: string, policy: EndpointPolicy): void {
  const reason = whyRefused(address, policy);
  if (reason !== null) throw new EndpointRefused(reason);
}

/** All addresses of a host name; rejects if it has none. */
type Resolve = (host: string) => Promise<LookupAddress[]>;

/**
 * The peer chooses what its side of a handshake costs us: with DHE and a modulus of 10,000 bits 0.6 s. So only key exchanges of
 * a fixed size are offered. Every server that speaks TLS 1.3, or 1.2 with forward secrecy as RFC 9325 asks for, knows one of them. A connection has
 * one handshake: the peer could ask for others, with longer certificates.
 */
const TLS = {
  minVersion: "TLSv1.2",
  ciphers:
    "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES",
  ecdhCurve: "X25519:P-256:P-384:P-521",
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

type GuardedAgentOptions = EndpointPolicy & {
  /** Time for name, connection and TLS together. Default 5 s. */
  connectTimeoutMs?: number;
  /** Most connections to one origin at once. Default 8. */
  connections?: number;
  /** How names are resolved; tests put their own here. */
  resolve?: Resolve;
  /** In whose turns TLS reads what the servers send; a quarter of the event loop by default. */
  turns?: Turns;
} & Pick<Agent.Options, "keepAliveTimeout" | "headersTimeout" | "bodyTimeout" | "pipelining">;

/**
 * A dispatcher for requests to such endpoints. It connects with HTTPS only, and only to addresses that the policy
 * allows. Every address of a name must pass. The socket connects to those very addresses, so a second answer of the DNS
 * (rebinding) has no effect. It follows no redirect and uses no proxy of the environment.
 *
 * A refused request rejects with EndpointRefused. Bodies are as long as the peer likes: read them with `readBounded`.
 */
export function guardedAgent(options: GuardedAgentOptions): Agent {
  const { allowLocal, allowNetworks = [], ...others } = options;
  const { connectTimeoutMs = 5_000, connections = 8, resolve = dnsResolver(), turns = new Turns(3), ...rest } = others;
  const policy = { allowLocal, allowNetworks };
  const lookup = guardedLookup(policy, resolve);
  const connect = buildConnector({ ...TLS, allowH2: false, timeout: connectTimeoutMs, lookup });
  /** undici's own options for the sockets that it makes. */
  const socketOptions = { lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };
  return new Agent({
    connections,
    ...rest,
    connect: (target, callback) => {
      try {
        refuseScheme(target.protocol, target.hostname, policy);
        // Node connects to a literal address without a lookup.
        if (isIP(target.hostname) !== 0) refuseAddress(target.hostname, policy);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      if (target.protocol === "http:") {
        connect(target, callback);
        return;
      }
      const port = Number(target.port) || 443;
      const httpSocket = new CountedSocket({ host: target.hostname, port, ...socketOptions }, turns, target.hostname);
      connect({ ...target, httpSocket: httpSocket as unknown as Socket }, (...result) => {
        const [, secured] = result;
        // Answers are long: the bytes that may come grow with the bytes that were read.
        if (secured != null)
          httpSocket.allow(() => SPARE_BYTES + WIRE_BYTES * secured.bytesRead, Number.POSITIVE_INFINITY);
        callback(...result);
      });
    },
  });
}

/** `owner`: whose turn the receiver's bytes wait for. `onWait`: they begin to wait, or their turn has come. */
type Posted = {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
  owner: string;
  onWait: (waits: boolean) => void;
};

/** Sends requests to such endpoints. A refused one rejects with EndpointRefused. */
export type GuardedClient = {
  /** Resolves with the answer's head; its body is the stream. No redirect is followed. */
  post(url: string, request: Posted): Promise<IncomingMessage>;
  /** An owner's server gave a good answer: what the owner's servers send waits less for turns. */
  earned(owner: string): void;
  /** Closes all connections. */
  destroy(): void;
};

/** An idle connection is closed after this time, before most servers close it under a request. */
const IDLE_MS = 4_000;

/**
 * Node's own HTTP client behind the same guard. TLS reads what receivers send in `turns`. undici closes the connection at a `100 Continue` that nobody
 * asked for, which some servers send; Node passes over it (RFC 9110, section 15.2: a client must be able to).
 */
export function guardedClient({
  resolve = dnsResolver(),
  turns = new Turns(0),
  ...policy
}: EndpointPolicy & { resolve?: Resolve; turns?: Turns }): GuardedClient {
  const options = { keepAlive: true, timeout: IDLE_MS, lookup: guardedLookup(policy, resolve) };
  const agents = { http: new HttpAgent(options), https: new CountingAgent({ ...options, ...TLS }, turns) };
  return {
    post: async (text, request) => {
      // An address in the URL itself is judged here: Node connects to it without a lookup.
      const url = parseEndpoint(text, policy);
      const [send, agent] = url.protocol === "https:" ? [requestHttps, agents.https] : [requestHttp, agents.http];
      return await postOn(agent, send, url, request);
    },
    earned: (owner) => turns.earned(owner),
    destroy: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/**
 * What a server may send before its TLS connection stands. Its chain of certificates is most of it, 3 to 8 kB of public authorities. All certificates
 * are checked, also where none of them is any authority's: 16 kB of them take up to 0.2 s. TLS has no setting for that, so the bytes are counted
 * before it gets them.
 */
const HANDSHAKE_BYTES = 16 * 1024;

/**
 * What a receiver of webhooks may send for each request: the heads of its answers, and the beginning of a body, whose rest is not read. After the
 * handshake a server can send session tickets and other messages of TLS without an end, which only these bytes tell of.
 */
const ANSWER_BYTES = 64 * 1024;
/** As much of it waits for no turn: session tickets, and the head of an answer. Messages of TLS in it take at most some milliseconds. */
const AT_ONCE_BYTES = 4 * 1024;

/** Bytes that a worker may send in its connection for each byte of its answers, and in addition. An event of a few bytes takes up to three records. */
const WIRE_BYTES = 4;
const SPARE_BYTES = 128 * 1024;

type Owned = { owner?: string };

/** What counts the bytes of a TLS connection to a receiver. */
const countedOf = new WeakMap<Duplex, CountedSocket>();

/** An agent that breaks off handshakes and answers of more than `HANDSHAKE_BYTES` and `ANSWER_BYTES`. Each owner has connections of its own. */
class CountingAgent extends HttpsAgent {
  readonly #turns: Turns;

  constructor(options: AgentOptions, turns: Turns) {
    super(options);
    this.#turns = turns;
  }

  override getName(options: Parameters<HttpsAgent["getName"]>[0] & Owned = {}): string {
    return `${super.getName(options)}:${options.owner}`;
  }

  override createConnection(options: NetConnectOpts & Owned, callback?: (error: Error | null, stream: Duplex) => void) {
    const counted = new CountedSocket(options, this.#turns, options.owner ?? "");
    const secured = super.createConnection({ ...options, socket: counted } as never, callback);
    secured?.once("secureConnect", () => counted.allow(() => ANSWER_BYTES, AT_ONCE_BYTES));
    if (secured != null) countedOf.set(secured, counted);
    return secured;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    super.reuseSocket(socket, request);
    countedOf.get(socket)?.allow(() => ANSWER_BYTES, AT_ONCE_BYTES);
  }
}

/**
 * TLS reads a piece of an answer in 0.1 ms and a piece of session tickets in 5 ms. After a piece that took longer than this, the next piece of the
 * connection waits for a turn.
 */
const QUICK_MS = 2;

/**
 * A TCP connection that breaks when more bytes have come than are allowed: at first those of a TLS handshake. The server chooses how long TLS takes
 * to read a piece, so a piece is handed to TLS at the owner's turn. After the handshake only pieces that follow a slow one wait, and
 * those beyond a number of bytes.
 */
class CountedSocket extends Duplex {
  readonly #socket;
  readonly #turns: Turns;
  readonly #owner: string;
  readonly #gone = new AbortController();
  #isSecure = false;
  /** Whether a piece is handed on at once, because the one before was quick. */
  #isQuick = false;
  /** Of the bytes that may come, so many are handed on at once. */
  #atOnce = 0;
  onWait: (waits: boolean) => void = () => {};
  /** True while a piece waits for its turn. */
  #waits = false;
  /** What follows that piece: the connection has ended meanwhile. */
  #after: (() => void) | undefined;
  #received = 0;
  #most = () => HANDSHAKE_BYTES;
  #whatIsLong = "the TLS handshake is";

  constructor(options: NetConnectOpts, turns: Turns, owner: string) {
    super();
    [this.#turns, this.#owner] = [turns, owner];
    this.#socket = connectTcp(options)
      .on("data", (data) => this.#take(data))
      .on("end", () => this.#end(() => this.push(null)))
      .on("error", (error) => this.#end(() => this.destroy(error)));
  }

  /** After the handshake, and for each request: from now on `most()` bytes may come; it is asked each time some come. The first `atOnce` wait for no turn. */
  allow(most: () => number, atOnce: number): void {
    this.#received = 0;
    this.#most = most;
    this.#whatIsLong = "what the server sent in its TLS connection is";
    this.#atOnce = atOnce;
    // The handshake itself had its turn.
    if (!this.#isSecure) [this.#isSecure, this.#isQuick] = [true, true];
  }

  #take(data: Buffer): void {
    this.#received += data.length;
    const most = this.#most();
    if (this.#received > most) {
      this.destroy(new Error(`${this.#whatIsLong} longer than ${most} bytes`));
    } else if (this.#isQuick && this.#received <= this.#atOnce) {
      if (!this.#handOn(data)) this.#socket.pause();
    } else {
      this.#waits = true;
      this.onWait(true);
      this.#socket.pause();
      const handOn = () => {
        this.#waits = false;
        this.onWait(false);
        const isMoreWanted = this.#handOn(data);
        if (this.#after !== undefined) this.#after();
        else if (isMoreWanted) this.#socket.resume();
      };
      this.#turns.run(this.#owner, this.#gone.signal, handOn).catch((error) => this.destroy(error));
    }
  }

  /** The connection has ended. Node says so of a paused one, too. */
  #end(act: () => void): void {
    if (this.#waits) this.#after = act;
    else act();
  }

  /** TLS reads the piece before this returns. False if more is not wanted yet. */
  #handOn(data: Buffer): boolean {
    const isAfterHandshake = this.#isSecure;
    const begun = performance.now();
    const isMoreWanted = this.push(data);
    if (isAfterHandshake) this.#isQuick = performance.now() - begun < QUICK_MS;
    return isMoreWanted;
  }

  override _read(): void {
    if (!this.#waits) this.#socket.resume();
  }

  override _write(data: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(data, callback);
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    this.#gone.abort(error);
    callback(error);
  }
}

/** A server may close a kept connection just as it is used again: then the request goes out on another one. */
async function postOn(agent: HttpAgent, send: typeof requestHttp, url: URL, request: Posted): Promise<IncomingMessage> {
  const { headers, body, signal, owner, onWait } = request;
  const length = { "content-length": Buffer.byteLength(body) };
  // Node hands what it does not know, such as the owner, to the agent.
  const options = { method: "POST", headers: { ...headers, ...length }, agent, signal, owner };
  const sent = send(url, options);
  sent.once("socket", (socket) => {
    const counted = countedOf.get(socket);
    if (counted !== undefined) counted.onWait = onWait;
  });
  sent.on(
    "information",
    boundInterim((reason) => sent.destroy(reason)),
  );
  try {
    return await new Promise((resolve, reject) => {
      sent.on("response", resolve).on("error", reject).end(body);
      // An answer that switches protocols closes the connection without another word.
      sent.on("close", () => reject(Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" })));
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!sent.reusedSocket || signal.aborted || (code !== "ECONNRESET" && code !== "EPIPE")) throw error;
    return await postOn(agent, send, url, request);
  }
}

/**
 * Most addresses of a name. Node tries one after the other, and each one that fails at once makes its stack deeper: some thousands end the process.
 * Each is also a connection to somewhere that the owner of the name chose.
 */
const MOST_ADDRESSES = 32;

/** Resolves a name for `net.connect`; fails if one of its addresses is refused, or if there are too many. */
function guardedLookup(policy: EndpointPolicy, resolve: Resolve): LookupFunction {
  return (host, { all }, callback) => {
    resolve(host)
      .then((addresses) => {
        if (addresses.length > MOST_ADDRESSES) {
          throw new EndpointRefused(`${host} has ${addresses.length} addresses; at most ${MOST_ADDRESSES} are tried`);
        }
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

const LOOPBACK: LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
const NO_RECORD = new Set(["ENODATA", "ENOTFOUND"]);

/**
 * Asks the DNS for A and AAAA records. `dns.lookup` uses one of four threads while a name server is silent: a few
 * hostile names would block every endpoint. `/etc/hosts` is not read: it names local machines.
 */
function dnsResolver(): Resolve {
  const resolver = new promises.Resolver({ timeout: 2_000, tries: 2 });
  return async (host) => {
    if (isLocalhost(host)) return LOOPBACK;
    const results = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = results.flatMap((result, index) =>
      result.status === "fulfilled" ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (addresses.length > 0) return addresses;
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    // "No such record" of one family says less than a failure of the other.
    throw failures.find(({ code }) => !NO_RECORD.has(code)) ?? failures[0] ?? new Error(`${host} has no address`);
  };
}

/** Closes the connection of a body that nobody will read. */
export function discard(body: { on(event: "error", listener: () => void): unknown; destroy(): unknown }): void {
  // A body that is destroyed before its end reports that as an error; without a listener it would end the process.
  body.on("error", () => {});
  body.destroy();
}
