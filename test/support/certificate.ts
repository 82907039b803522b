/** Certificates made here: no key is kept in the repository (X.509, RFC 5280, in DER). */
import { createECDH, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { createServer, type Server } from "node:net";

function der(tag: number, ...parts: readonly (Buffer | Uint8Array)[]): Buffer {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128 ? Buffer.from([body.length]) : Buffer.from([0x82, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, body]);
}
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const integer = (value: number) => der(0x02, Buffer.from([value]));
const identifier = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const time = (at: number) =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replace(/[-:T]/g, "")}Z`));

const DAY_MS = 86_400_000;
const validity = () => sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS));
const nameOf = (text: string) => sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))));

const ECDSA_WITH_SHA256 = sequence(identifier("2a8648ce3d040302"));
const ECDSA_WITH_SHA512 = sequence(identifier("2a8648ce3d040304"));
const COMMON_NAME = identifier("550403");
const ALTERNATIVE_NAMES = identifier("551d11");

/** One for 127.0.0.1, signed by its own key. `comment`: so many bytes more, in an extension that means nothing. PEM. */
export function makeCertificate(comment = 0): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = nameOf("test");
  const names = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from("localhost")));
  const extensions = [sequence(ALTERNATIVE_NAMES, der(0x04, names))];
  if (comment > 0) extensions.push(sequence(identifier("2a03"), der(0x04, der(0x0c, Buffer.alloc(comment, "x")))));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    name,
    validity(),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  const base64 = sequence(body, ECDSA_WITH_SHA256, signature).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

/**
 * As many certificates as 16 kB hold, each signed by the next one, over the curve whose signatures take OpenSSL longest to check. No signature is
 * right, which it finds out last.
 */
function costlyChain(): Buffer[] {
  return Array.from({ length: 75 }, (_, nth) => {
    const keys = createECDH("sect571r1");
    keys.generateKeys();
    const algorithm = sequence(identifier("2a8648ce3d0201"), identifier("2b81040027"));
    const body = sequence(
      integer(nth + 1),
      ECDSA_WITH_SHA512,
      nameOf(String(nth + 1)),
      validity(),
      nameOf(String(nth)),
      sequence(algorithm, der(0x03, Buffer.from([0]), keys.getPublicKey(null, "compressed"))),
    );
    return sequence(body, ECDSA_WITH_SHA512, der(0x03, Buffer.from([0]), sequence(integer(5), integer(7))));
  });
}

/** What a server sends first in TLS 1.2 (RFC 5246, section 7.4): its hello, these certificates, and that it is done, which breaks the handshake. */
function helloWith(chain: readonly Buffer[]): Buffer {
  const sized = (bytes: number, data: Buffer) => {
    const size = Buffer.alloc(bytes);
    size.writeUIntBE(data.length, 0, bytes);
    return Buffer.concat([size, data]);
  };
  const message = (type: number, data: Buffer) => Buffer.concat([Buffer.from([type]), sized(3, data)]);
  const record = (data: Buffer) => Buffer.concat([Buffer.from([22, 3, 3]), sized(2, data)]);
  // Version, random, no session, ECDHE_RSA_WITH_AES_128_GCM_SHA256, no compression, secure renegotiation.
  const hello = [[3, 3], randomBytes(32), [0], [0xc0, 0x2f], [0], [0, 5, 0xff, 1, 0, 1, 0]];
  const certificates = sized(3, Buffer.concat(chain.map((certificate) => sized(3, certificate))));
  const all = [
    message(2, Buffer.concat(hello.map((part) => Buffer.from(part)))),
    message(11, certificates),
    message(14, Buffer.alloc(0)),
  ];
  return Buffer.concat(all.map(record));
}

/** A server whose certificates take a client about 0.2 s to check. `onSent`: they are on their way; `onClosed`: the client has ended the connection. */
export function costlyServer(onSent: () => void, onClosed: () => void): Server {
  const hello = helloWith(costlyChain());
  return createServer((socket) => {
    socket.on("error", () => {}).on("close", onClosed);
    socket.once("data", () => socket.resume().write(hello, onSent));
  });
}
