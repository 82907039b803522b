import type { Config } from "../config.ts";

/** What the pages tell about the service they are served by. */
export type Site = {
  baseUrl: string;
  appUrl: string;
  /** Page of a transaction, with `<tx_hash>` where the hash goes. */
  transactionUrl: string;
  retentionHours: number;
  chainId: number;
  escrow: string;
  /** Id of the operator that runs the service. */
  operator: number;
};

export function siteOf(config: Config, operator: number): Site {
  const { BASE_URL, APP_URL, EXPLORER_URL, OUTPUT_RETENTION_HOURS, deployment } = config;
  return {
    baseUrl: BASE_URL,
    appUrl: APP_URL,
    transactionUrl: `${EXPLORER_URL ?? APP_URL}/tx/<tx_hash>`,
    retentionHours: OUTPUT_RETENTION_HOURS,
    chainId: deployment.chainId,
    escrow: deployment.contracts.InferenceEscrow,
    operator,
  };
}
