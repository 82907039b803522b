import fc from "fast-check";
import { bytesToHex, type Hex, hexToBytes, keccak256, parseSignature, recoverAddress, serializeSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { native, portable, recoverAnySigner, recoverSigner, signingAccount } from "../../shared/secp256k1.ts";

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

test("signs exactly as viem does: hashes, messages, typed data and transactions", async () => {
  await fc.assert(
    fc.asyncProperty(bytes(32), bytes(20), fc.nat(), async (hash, to, nonce) => {
      const key = generatePrivateKey();
      const [ours, viems] = [signingAccount(key), privateKeyToAccount(key)];
      expect(ours.address).toBe(viems.address);
      const digest = bytesToHex(hash);
      expect(await ours.sign?.({ hash: digest })).toBe(await viems.sign({ hash: digest }));
      expect(await ours.signMessage({ message: digest })).toBe(await viems.signMessage({ message: digest }));
      const typed = {
        domain: escrowDomain(1, bytesToHex(to)),
        types: jobMessageTypes,
        primaryType: "Acknowledgement",
        message: { jobId: bytesToHex(hash.subarray(0, 16)), attempt: 7 },
      } as const;
      expect(await ours.signTypedData(typed)).toBe(await viems.signTypedData(typed));
      const transaction = {
        type: "eip1559",
        chainId: 1,
        nonce,
        gas: 21_000n,
        to: bytesToHex(to),
        data: digest,
        maxFeePerGas: 2n,
        maxPriorityFeePerGas: 1n,
      } as const;
      expect(await ours.signTransaction(transaction)).toBe(await viems.signTransaction(transaction));
    }),
    { numRuns: 30 },
  );
});

test("recovers the signer, as viem does", async () => {
  await fc.assert(
    fc.asyncProperty(bytes(32), async (hash) => {
      const account = privateKeyToAccount(generatePrivateKey());
      const digest = bytesToHex(hash);
      const signature = await account.sign({ hash: digest });
      expect(recoverSigner(digest, signature)).toBe(account.address);
      expect(recoverSigner(digest, signature)).toBe(await recoverAddress({ hash: digest, signature }));
      expect(recoverSigner(keccak256(digest), signature)).not.toBe(account.address);
    }),
    { numRuns: 30 },
  );
});

test("takes nothing for a signature that the contracts refuse", async () => {
  const hash = keccak256("0x01");
  const signature = await privateKeyToAccount(generatePrivateKey()).sign({ hash });
  const { r, s, yParity } = parseSignature(signature);
  const high = serializeSignature({
    r,
    s: `0x${(ORDER - BigInt(s)).toString(16).padStart(64, "0")}`,
    yParity: yParity ? 0 : 1,
  });
  const odd: Hex[] = [
    high,
    "0x",
    signature.slice(0, -2) as Hex,
    `${signature}00`,
    `${signature.slice(0, -2)}1d` as Hex,
    `${signature.slice(0, -2)}00` as Hex,
    `0x${"00".repeat(32)}${signature.slice(66)}`,
    `${r}${"00".repeat(32)}1b`,
    `0x${ORDER.toString(16)}${signature.slice(66)}`,
    bytesToHex(new Uint8Array(65).fill(255)),
  ];
  for (const bad of odd) expect(recoverSigner(hash, bad), bad).toBeNull();
  expect(hexToBytes(signature)).toHaveLength(65);
});

test("recovers the signer of a sign-in also from a high s, and from v 0 or 1, and of nothing else", async () => {
  const hash = keccak256("0x01");
  const account = privateKeyToAccount(generatePrivateKey());
  const signature = await account.sign({ hash });
  const { r, s, yParity } = parseSignature(signature);
  const highS = `0x${(ORDER - BigInt(s)).toString(16).padStart(64, "0")}` as const;
  const bare = `${signature.slice(0, -2)}0${yParity}` as Hex;
  const high = serializeSignature({ r, s: highS, yParity: yParity ? 0 : 1 });
  for (const good of [signature, bare, high]) expect(recoverAnySigner(hash, good), good).toBe(account.address);
  const odd = ["0x", bare.slice(0, -2), `${bare}00`, `${bare.slice(0, -2)}02`, `${bare.slice(0, -2)}1d`] as Hex[];
  for (const bad of odd) expect(recoverAnySigner(hash, bad), bad).toBeNull();
});

test("refuses a private key that is none", () => {
  expect(() => signingAccount(`0x${"00".repeat(32)}`)).toThrow();
  expect(() => signingAccount("0x1234")).toThrow();
});

test("the native and the portable library sign and recover alike", ({ skip }) => {
  skip(native === null, "npm could not build the package secp256k1 here");
  const outcome = (recover: () => Uint8Array | null): string | null => {
    try {
      const point = recover();
      return point === null ? null : bytesToHex(point);
    } catch {
      return null;
    }
  };
  fc.assert(
    fc.property(bytes(32), bytes(32), bytes(64), fc.constantFrom(0 as const, 1 as const), (hash, key, junk, parity) => {
      expect(portable.publicKey(key)).toEqual(native?.publicKey(key));
      const made = native?.sign(hash, key);
      expect(portable.sign(hash, key)).toEqual(made);
      for (const signature of [made?.signature ?? junk, junk]) {
        const recovered = outcome(() => native?.recover(signature, parity, hash) ?? null);
        expect(outcome(() => portable.recover(signature, parity, hash))).toBe(recovered);
      }
    }),
    { numRuns: 50 },
  );
});
