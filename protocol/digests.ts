/**
 * EIP-712 digests of the messages that every job is signed and recovered with: half a dozen a request. viem's encoder takes any type
 * and works on hex text; these messages are a few words of fixed size. `test/protocol/digests.test.ts` holds one against the other.
 */
import { type Address, bytesToHex, domainSeparator, type Hex, hexToBytes, keccak256, toBytes } from "viem";
import {
  type Acknowledgement,
  type Assignment,
  type Authorization,
  authorizationTypes,
  type Completion,
  escrowDomain,
  jobMessageTypes,
} from "./messages.ts";

const WORD = 32;
type Field = { name: string; type: string };
type Write = (value: unknown, word: Uint8Array) => void;

/** Digests of the job messages of one escrow: what is signed, and what a signature is recovered from. */
export type JobDigests = {
  assignment: (message: Assignment) => Hex;
  acknowledgement: (message: Acknowledgement) => Hex;
  completion: (message: Completion) => Hex;
  authorization: (message: Authorization) => Hex;
};

export type DigestsOf = (chainId: number, escrow: Address) => JobDigests;
/** Keccak-256: 32 bytes. */
type Keccak = (bytes: Uint8Array) => Uint8Array;

/**
 * `jobDigests` with another implementation of Keccak-256.
 *
 * @example
 * const digestsOf = digestsWith((bytes) => keccak256(bytes, "bytes"));
 */
export function digestsWith(keccak: Keccak): DigestsOf {
  const known = new Map<string, JobDigests>();
  return (chainId, escrow) => {
    const key = `${chainId} ${escrow}`;
    let digests = known.get(key);
    if (digests === undefined) {
      const separator = toBytes(domainSeparator({ domain: escrowDomain(chainId, escrow) }));
      const types = { ...jobMessageTypes, ...authorizationTypes };
      const of = (name: keyof typeof types) => digestOf(keccak, separator, { name, fields: types[name] });
      digests = {
        assignment: of("Assignment"),
        acknowledgement: of("Acknowledgement"),
        completion: of("Completion"),
        authorization: of("Authorization"),
      };
      known.set(key, digests);
    }
    return digests;
  };
}

/**
 * The digests of one escrow's messages. They throw for a message with a value that its type cannot hold.
 *
 * @example
 * const signature = await account.sign({ hash: jobDigests(31337, escrow).completion(completion) });
 */
export const jobDigests: DigestsOf = digestsWith((bytes) => keccak256(bytes, "bytes"));

type MessageType = { name: string; fields: readonly Field[] };

function digestOf(keccak: Keccak, separator: Uint8Array, { name, fields }: MessageType): (message: object) => Hex {
  const typeHash = keccak(toBytes(`${name}(${fields.map(({ type, name }) => `${type} ${name}`).join(",")})`));
  const writers = fields.map((field) => ({ name: field.name, write: writerOf(field) }));
  return (message) => {
    const struct = new Uint8Array(WORD * (1 + writers.length));
    struct.set(typeHash);
    writers.forEach(({ name, write }, index) => {
      write((message as Record<string, unknown>)[name], struct.subarray(WORD * (index + 1), WORD * (index + 2)));
    });
    const digest = new Uint8Array(2 + 2 * WORD);
    digest.set([0x19, 0x01]);
    digest.set(separator, 2);
    digest.set(keccak(struct), 2 + WORD);
    return bytesToHex(keccak(digest));
  };
}

/** Writes a value into its word: bytesN from the left, addresses and numbers from the right. */
function writerOf({ name, type }: Field): Write {
  const refuse = (value: unknown): never => {
    throw new TypeError(`${name}: ${JSON.stringify(value)} is no ${type}`);
  };
  const bytes = type === "address" ? 20 : Number(/^bytes(\d+)$/.exec(type)?.[1]);
  if (bytes > 0) {
    const shape = new RegExp(`^0x[0-9a-fA-F]{${bytes * 2}}$`);
    const offset = type === "address" ? WORD - bytes : 0;
    return (value, word) => {
      if (typeof value !== "string" || !shape.test(value)) return refuse(value);
      word.set(hexToBytes(value as Hex), offset);
    };
  }
  const bits = Number(/^uint(\d+)$/.exec(type)?.[1]);
  // Wider numbers would not fit a JavaScript number.
  if (!(bits <= 48)) throw new TypeError(`${name}: digests of ${type} are not written`);
  return (value, word) => {
    if (!Number.isInteger(value) || (value as number) < 0 || (value as number) >= 2 ** bits) return refuse(value);
    let rest = value as number;
    for (let at = WORD - 1; rest > 0; at -= 1) {
      word[at] = rest % 256;
      rest = Math.floor(rest / 256);
    }
  };
}
