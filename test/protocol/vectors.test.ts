/** The published test vectors (contracts/vectors.json), recomputed. */
import { type Address, domainSeparator, type Hex, hashStruct, hashTypedData, keccak256, toBytes } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import * as contracts from "../../contracts/index.ts";
import published from "../../contracts/vectors.json" with { type: "json" };
import {
  type Authorization as AuthorizationMessage,
  type Completion as CompletionMessage,
  compactSignature,
  escrowDomain,
  registryDomain,
} from "../../protocol/messages.ts";
import { signerOf } from "../../verify/calls.ts";

const repeated = (digit: number): Address => `0x${String(digit).repeat(40)}`;

const gateway = privateKeyToAccount(keccak256(toBytes("gateway of the test vectors")));
const worker = privateKeyToAccount(keccak256(toBytes("worker of the test vectors")));
const key = privateKeyToAccount(keccak256(toBytes("authorization key of the test vectors")));
const disputeKey = privateKeyToAccount(keccak256(toBytes("dispute key of the test vectors")));
const escrow = escrowDomain(31_337, repeated(1));
const registry = registryDomain(31_337, repeated(2));
const signers = { gateway, worker, "authorization key": key, "dispute key": disputeKey };
const domains = { escrow, registry };
/** Each type of message that the package exports. */
const types: Record<string, readonly { name: string; type: string }[]> = Object.assign(
  {},
  ...Object.entries(contracts).flatMap(([name, value]) => (name.endsWith("Types") ? [value] : [])),
);
const vectors = Object.entries(published.messages);
const { Authorization, Completion } = published.messages;

describe("the test vectors", () => {
  it("signers and domains", () => {
    const addresses = Object.entries(signers).map(([name, { address }]) => [name, address]);
    expect(published.signers).toEqual(Object.fromEntries(addresses));
    expect(published.domainSeparators).toEqual({
      escrow: domainSeparator({ domain: escrow }),
      registry: domainSeparator({ domain: registry }),
    });
  });

  it("each type has one", () => {
    expect(Object.keys(published.messages).sort()).toEqual(Object.keys(types).sort());
  });

  it.each(vectors)("%s", async (primaryType, { signer, domain, message, ...values }) => {
    const fields = (types[primaryType] ?? []).map(({ name, type }) => `${type} ${name}`).join(",");
    const typed = { domain: domains[domain as keyof typeof domains], types, primaryType, message };
    const { r, vs } = compactSignature(
      await signers[signer as keyof typeof signers].signTypedData(
        typed as unknown as Parameters<PrivateKeyAccount["signTypedData"]>[0],
      ),
    );
    expect(values).toEqual({
      typehash: keccak256(toBytes(`${primaryType}(${fields})`)),
      structHash: hashStruct({ data: message, types, primaryType } as unknown as Parameters<typeof hashStruct>[0]),
      digest: hashTypedData(typed as unknown as Parameters<typeof hashTypedData>[0]),
      r,
      vs,
    });
  });

  const at = (chainId: number) => ({ chainId, addresses: { escrow: repeated(1) } });

  it("the verifier recovers the authorization key of the Authorization", async () => {
    const { r, vs } = Authorization as { r: Hex; vs: Hex };
    const signer = signerOf(at(31_337), "Authorization", Authorization.message as AuthorizationMessage, { r, vs });
    expect(await signer).toBe(key.address);
  });

  it("the verifier recovers the worker of the Completion, and nobody from a high s", async () => {
    const { r, vs } = Completion as { r: Hex; vs: Hex };
    expect(await signerOf(at(31_337), "Completion", Completion.message as CompletionMessage, { r, vs })).toBe(
      worker.address,
    );
    expect(await signerOf(at(1), "Completion", Completion.message as CompletionMessage, { r, vs })).not.toBe(
      worker.address,
    );
    // The lowest s that is too high; what lies above 2^255 has no place beside the parity bit at all.
    const high = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1n;
    expect(
      await signerOf(at(31_337), "Completion", Completion.message as CompletionMessage, {
        r,
        vs: `0x${high.toString(16)}`,
      }),
    ).toBeNull();
  });
});
