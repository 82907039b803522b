/** The test vectors of docs/contracts/messages.md, recomputed. */
import { readFileSync } from "node:fs";
import { type Address, domainSeparator, type Hex, hashStruct, hashTypedData, keccak256, sha256, toBytes } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import {
  authorizationTypes,
  compactSignature,
  enrollmentTypes,
  escrowDomain,
  jobMessageTypes,
  registryDomain,
  signerConsentTypes,
} from "../../protocol/messages.ts";
import { signerOf } from "../../verify/calls.ts";

const page = readFileSync(new URL("../../docs/contracts/messages.md", import.meta.url), "utf8");
/** The values of the table that is headed by `name`. */
const table = (name: string): Record<string, string> => {
  const block =
    page.split("\n\n").find((one) => one.trim().startsWith(`| ${name} | `) && one.includes("| --- |")) ?? "";
  return Object.fromEntries([...block.matchAll(/\| ([\w ]+) \| `(0x\w+)` \|/g)].map(([, key, value]) => [key, value]));
};
const repeated = (digit: number): Address => `0x${String(digit).repeat(40)}`;

const gateway = privateKeyToAccount(keccak256(toBytes("gateway of the test vectors")));
const worker = privateKeyToAccount(keccak256(toBytes("worker of the test vectors")));
const key = privateKeyToAccount(keccak256(toBytes("authorization key of the test vectors")));
const escrow = escrowDomain(31_337, repeated(1));
const registry = registryDomain(31_337, repeated(2));
const jobId: Hex = "0x018f6b2c3d4e7a5b8c9d0e1f20314253";
const completion = {
  jobId,
  proofHash: sha256(toBytes("hello")),
  promptTokens: 12,
  completionTokens: 3_000,
  completedAt: 1_735_689_605,
};

const authorization = {
  jobId,
  wallet: repeated(5),
  operator: 1,
  model: 5,
  maxTokens: 2_000,
  maxCredits: 8,
  requestHash: sha256(toBytes("{}")),
  expiresAt: 1_735_689_900,
};

type Message = [string, PrivateKeyAccount, object, Record<string, readonly { name: string; type: string }[]>, object];
const MESSAGES: Message[] = [
  [
    "Assignment",
    gateway,
    escrow,
    jobMessageTypes,
    { jobId, worker: worker.address, attempt: 1, acknowledgeBy: 1_735_689_660 },
  ],
  ["Acknowledgement", worker, escrow, jobMessageTypes, { jobId, attempt: 1 }],
  ["Completion", worker, escrow, jobMessageTypes, completion],
  ["Authorization", key, escrow, authorizationTypes, authorization],
  ["SignerConsent", gateway, escrow, signerConsentTypes, { operator: 1, admin: repeated(4) }],
  ["Enrollment", worker, registry, enrollmentTypes, { owner: repeated(3) }],
];

describe("the test vectors in the documentation", () => {
  it("signers and domains", () => {
    expect(table("signer")).toEqual({
      gateway: gateway.address,
      worker: worker.address,
      "authorization key": key.address,
    });
    expect(table("domain separator")).toEqual({
      escrow: domainSeparator({ domain: escrow }),
      registry: domainSeparator({ domain: registry }),
    });
  });

  it.each(MESSAGES)("%s", async (primaryType, signer, domain, types, message) => {
    const fields = (types[primaryType] ?? []).map(({ name, type }) => `${type} ${name}`).join(",");
    const typed = { domain, types, primaryType, message } as Parameters<typeof hashTypedData>[0];
    const { r, vs } = compactSignature(
      await signer.signTypedData(typed as Parameters<PrivateKeyAccount["signTypedData"]>[0]),
    );
    expect(page).toContain(`\`${primaryType}(${fields})\``);
    expect(table(primaryType)).toEqual({
      typehash: keccak256(toBytes(`${primaryType}(${fields})`)),
      "struct hash": hashStruct({ data: message, types, primaryType } as Parameters<typeof hashStruct>[0]),
      digest: hashTypedData(typed),
      r,
      vs,
    });
  });

  const at = (chainId: number) => ({ chainId, addresses: { escrow: repeated(1) } });

  it("the verifier recovers the authorization key of the Authorization", async () => {
    const { r, vs } = table("Authorization") as { r: Hex; vs: Hex };
    const signer = signerOf(at(31_337), "Authorization", authorization, { r, vs });
    expect(await signer).toBe(key.address);
  });

  it("the verifier recovers the worker of the Completion, and nobody from a high s", async () => {
    const { r, vs } = table("Completion") as { r: Hex; vs: Hex };
    expect(await signerOf(at(31_337), "Completion", completion, { r, vs })).toBe(worker.address);
    expect(await signerOf(at(1), "Completion", completion, { r, vs })).not.toBe(worker.address);
    // The lowest s that is too high; what lies above 2^255 has no place beside the parity bit at all.
    const high = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1n;
    expect(await signerOf(at(31_337), "Completion", completion, { r, vs: `0x${high.toString(16)}` })).toBeNull();
  });
});
