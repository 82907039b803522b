import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Address, isAddress, isAddressEqual, zeroAddress } from "viem";
import type { AccountInfo } from "../../data/types.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { CopyButton, Hash } from "../../ui/copy.tsx";
import { short } from "../../ui/format.ts";
import { Card, Notice } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { setAuthorizationKey } from "../../wallet/ledger.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** The key without whose signature no job of this wallet is locked. */
export function AuthorizationCard({ account }: { account: AccountInfo }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const [text, setText] = useState("");
  const [done, setDone] = useState("");
  const [made, setMade] = useState<{ secret: string; address: Address } | null>(null);
  const key = text.trim();
  const valid = isAddress(key) && !isAddressEqual(key, zeroAddress);
  const current = account.authorization_key;
  const set = async (wanted: Address | null) => {
    setDone(wanted === null ? "No key is needed any more" : "The key is in force");
    if (!(await run((onProgress) => setAuthorizationKey(context(onProgress), wanted)))) return;
    setText("");
    await cache.invalidateQueries({ queryKey: ["own"] });
  };
  const make = async () => {
    const { generatePrivateKey, privateKeyToAddress } = await import("viem/accounts");
    const secret = generatePrivateKey();
    setMade({ secret, address: privateKeyToAddress(secret) });
    setText(privateKeyToAddress(secret));
  };
  return (
    <Card title="Authorization key" aside={<span className="hint">kept by the contract</span>}>
      <p>
        With a key set, the contract locks your credits only for a job that this key has signed: its request, its model
        and the most it may cost. Even this service can then take nothing else, and it refuses requests that come
        without such a signature.
      </p>
      {current === null ? null : (
        <div className="row">
          <p>
            In force: <Hash value={current} what="authorization key" />
          </p>
          <Button kind="danger" busy={busy} disabled={!connected} onClick={() => void set(null)}>
            Remove the key
          </Button>
        </div>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (valid) void set(key as Address);
        }}
      >
        <Field
          label={current === null ? "Address of the key" : "Address of another key"}
          name="authorization-key"
          className="mono"
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={key === "" || valid ? null : "Not an address: 0x and 40 hex digits, with the right checksum."}
          hint="A key made for this alone: not the wallet's own, and not one that this service has."
        />
        {made === null ? null : (
          <Notice
            tone="good"
            title={`Private key of ${short(made.address)}`}
            actions={<Button onClick={() => setMade(null)}>I have stored it</Button>}
          >
            <p>
              Only this browser has it, and shows it this once. Your client signs with it (<code>authorizationKey</code>
              ).
            </p>
            <p className="secret">
              <code>{made.secret}</code>
              <CopyButton text={made.secret} what="private key" />
            </p>
          </Notice>
        )}
        <div className="actions">
          <Button type="submit" kind="primary" busy={busy} disabled={!connected || !account.has_account || !valid}>
            Set the key
          </Button>
          <Button onClick={() => void make()}>Make a key</Button>
        </div>
        {account.has_account ? null : (
          <p className="hint">A key can be set once the wallet has made its first deposit.</p>
        )}
      </form>
      <ActionStatus state={state} done={done} />
    </Card>
  );
}
