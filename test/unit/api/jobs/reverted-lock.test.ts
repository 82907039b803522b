/** A lock that the chain refuses costs the operator gas: it counts against the job's wallet, also where the error does not name that. */
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import { WalletStandings } from "../../../../api/jobs/wallet-standing.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import { fakeGateway, reverted, submission } from "../../../support/fake-gateway.ts";
import { runJob } from "../../support/jobs.ts";

/** Jobs that the wallet may start after its lock was refused with this error. */
async function startsAfter(name: string): Promise<number> {
  const standings = new WalletStandings();
  const parts = fakeGateway({
    account: signingAccount(generatePrivateKey()),
    standings: { lockReverted: (wallet, error) => standings.lockReverted(wallet, error) },
    pipeline: { submit: () => submission(reverted(name, 1_767_226_440n, 1_767_226_370n)) },
  });
  const { completed } = runJob(parts);
  await expect(completed).rejects.toThrow();
  const { address } = parts.account;
  let starts = 0;
  const rich = { left: () => ({ free: 1_000, today: 1_000 }) };
  for (; standings.whyNot(address, 1, rich) === null; starts += 1) standings.begin(address, 1);
  return starts;
}

it.each(["Job_AuthorizationTooLong", "Job_InvalidId", "Limits_Frozen"])(
  "leaves the wallet one at a time: %s",
  async (name) => {
    expect(await startsAfter(name)).toBe(1);
  },
);

it.each(["Ledger_Paused", "Job_LockExpired", "Job_ModelNotActive", "BatchReverted", "Job_AlreadyExists"])(
  "is not the wallet's doing: %s, of an id that the gateway made",
  async (name) => {
    expect(await startsAfter(name)).toBe(8);
  },
);
