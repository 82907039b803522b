/** A certificate for 127.0.0.1, signed by its own key, made here: no key is kept in the repository (X.509, RFC 5280, in DER). */
import { generateKeyPairSync, sign } from "node:crypto";

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

const ECDSA_WITH_SHA256 = sequence(identifier("2a8648ce3d040302"));
const COMMON_NAME = identifier("550403");
const ALTERNATIVE_NAMES = identifier("551d11");

/** `comment`: so many bytes more, in an extension that means nothing. PEM. */
export function makeCertificate(comment = 0): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from("test")))));
  const day = 86_400_000;
  const names = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from("localhost")));
  const extensions = [sequence(ALTERNATIVE_NAMES, der(0x04, names))];
  if (comment > 0) extensions.push(sequence(identifier("2a03"), der(0x04, der(0x0c, Buffer.alloc(comment, "x")))));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(Date.now() - day), time(Date.now() + day)),
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
