import type { Context } from "ponder:registry";
import { protocolConfig } from "ponder:schema";

type Config = typeof protocolConfig.$inferSelect;
const EMPTY: Config = {
  id: 1,
  feeBps: null,
  nextFeeBps: null,
  feeChangesAt: null,
  treasury: null,
  guardian: null,
  pausedByGuardian: false,
  pausedByGovernance: false,
  compensationCap: null,
  minimumStake: null,
  slashAmount: null,
  nextMinimumStake: null,
  nextSlashAmount: null,
  stakeTermsChangeAt: null,
  arbiterSet: null,
  arbiters: null,
  arbiterQuorum: null,
  registryEscrow: null,
  owners: {},
  ownerChanges: {},
  feesDeferred: 0,
};

/** Changes the one row of protocol_config. Contracts are deployed in any order, so every event may be the first. */
export async function configure(
  context: Context,
  change: (before: Config) => Partial<Omit<Config, "id">>,
): Promise<Config> {
  return await context.db
    .insert(protocolConfig)
    .values({ ...EMPTY, ...change(EMPTY) })
    .onConflictDoUpdate(change);
}
