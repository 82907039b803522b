import { createSiweMessage } from "viem/siwe";
import type { Connector } from "wagmi";
import { connect, getConnection, signMessage } from "wagmi/actions";
import { call } from "../data/client.ts";
import type { AppConfig, SessionState } from "../data/types.ts";
import type { WalletConfig } from "./config.ts";

/** Connects the wallet if it is not, has a sign-in message (EIP-4361) signed and opens a session with it. */
export async function signIn(wallet: WalletConfig, app: AppConfig, connector: Connector): Promise<SessionState> {
  const connection = getConnection(wallet);
  const connected = connection.status === "connected" && connection.connector.uid === connector.uid;
  const [address] = connected ? connection.addresses : (await connect(wallet, { connector })).accounts;
  if (address === undefined) throw new Error("The wallet shows no account to this page. Allow one and try again.");
  const { nonce, expires_at } = await call<{ nonce: string; expires_at: string }>("POST", "/nonce");
  const message = createSiweMessage({
    address,
    nonce,
    domain: location.host,
    uri: `${location.origin}/app`,
    version: "1",
    chainId: app.chain_id,
    statement: "Sign in to manage your inference credits. This costs nothing and moves nothing.",
    issuedAt: new Date(),
    expirationTime: new Date(expires_at),
  });
  const signature = await signMessage(wallet, { account: address, message, connector });
  return await call<SessionState>("POST", "/session", { message, signature });
}
