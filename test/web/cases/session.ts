/** Who may do what below /app/api: sign-in, sessions, other sites. Without a browser, so it runs everywhere. */
import type { TestStack } from "../../support/stack.ts";
import { apiKey } from "./session/api-key.ts";
import { contractWallets } from "./session/contract-wallet.ts";
import { deployment } from "./session/deployment.ts";
import { otherSites } from "./session/other-sites.ts";
import { sessions } from "./session/sessions.ts";
import { signingIn } from "./session/signing-in.ts";
import { Visitor } from "./session/visitor.ts";

export function sessionTests(given: () => TestStack): void {
  const visitor = new Visitor(given);
  signingIn(visitor);
  contractWallets(visitor);
  sessions(visitor);
  otherSites(visitor);
  apiKey(visitor);
  deployment(visitor);
}
