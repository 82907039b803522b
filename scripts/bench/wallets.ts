import { pino } from "pino";
import { createNonceManager, generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { jsonRpc } from "viem/nonce";
import { Keys } from "../../api/accounts/keys.ts";
import { openDatabase } from "../../api/store/database.ts";
import { DEPLOYER_KEY } from "../local-stack/accounts.ts";
import { provideCredits } from "../local-stack/funding.ts";
import type { Stack } from "../local-stack/stack.ts";

/** Opens `count` funded accounts, as many clients as a batch has jobs, and returns their API keys. */
export async function openAccounts(stack: Stack, count: number, credits: number): Promise<string[]> {
  // One of its own: the library's would go on counting where the chain of an earlier system ended.
  const nonceManager = createNonceManager({ source: jsonRpc() });
  const funder = privateKeyToAccount(DEPLOYER_KEY, { nonceManager });
  const pool = openDatabase(stack.info.database_url as string, pino({ level: "silent" }), 4);
  const keys = new Keys(pool);
  const open = async (): Promise<string> => {
    const owner = privateKeyToAccount(generatePrivateKey());
    await provideCredits(stack.info, { funder, owner, credits });
    return keys.regenerate(owner.address);
  };
  try {
    return await Promise.all(Array.from({ length: count }, open));
  } finally {
    await pool.end();
  }
}
