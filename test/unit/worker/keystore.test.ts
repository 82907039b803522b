import { decryptKeystoreJson, encryptKeystoreJson } from "ethers";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { addressOf, decryptKey, encryptKey, parseKeystore } from "../../../worker/keys.ts";

const PASSPHRASE = "correct horse battery staple é";

describe("the encrypted key", () => {
  it("is opened by its passphrase alone, and shows the key nowhere", async () => {
    const key = generatePrivateKey();
    const keystore = await encryptKey(key, PASSPHRASE);
    expect(JSON.stringify(keystore)).not.toContain(key.slice(2));
    const read = parseKeystore(JSON.stringify(keystore), "keystore.json");
    expect(addressOf(read)).toBe(privateKeyToAccount(key).address);
    expect(await decryptKey(read, PASSPHRASE)).toBe(key);
    await expect(decryptKey(read, `${PASSPHRASE} `)).rejects.toThrow("wrong passphrase");
  });

  it("is a file that other wallets open, and theirs are opened here", async () => {
    const key = generatePrivateKey();
    const ours = JSON.stringify(await encryptKey(key, PASSPHRASE));
    expect((await decryptKeystoreJson(ours, PASSPHRASE)).privateKey).toBe(key);
    const account = { address: privateKeyToAccount(key).address, privateKey: key };
    const theirs = await encryptKeystoreJson(account, PASSPHRASE, { scrypt: { N: 1 << 10 } });
    expect(await decryptKey(parseKeystore(theirs, "k"), PASSPHRASE)).toBe(key);
  });

  it("that is damaged or too costly is refused with its file's name", async () => {
    const good = await encryptKey(generatePrivateKey(), PASSPHRASE);
    const greedy = { ...good, crypto: { ...good.crypto, kdfparams: { ...good.crypto.kdfparams, n: 2 ** 30 } } };
    for (const text of ["{", "{}", JSON.stringify(greedy)]) {
      expect(() => parseKeystore(text, "/w/keystore.json")).toThrow("/w/keystore.json");
    }
  });
});
