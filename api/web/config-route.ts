import type { RequestHandler } from "express";
import { MINIMUM_DEPOSIT_CREDITS } from "../../protocol/money.ts";
import { secretsOfUrl } from "../../protocol/redact.ts";
import type { Config } from "../config.ts";

const DEV_CHAIN_ID = 31_337;

/** `GET /config`: what the application must know before anyone signs in; deposits name `operator`. Nothing in it is secret. */
export function configRoute(config: Config, operator: number): RequestHandler {
  const { chainId, contracts } = config.deployment;
  const development = chainId === DEV_CHAIN_ID;
  const shown = {
    chain_id: chainId,
    chain_name: config.CHAIN_NAME ?? (development ? "Local development chain" : `Chain ${chainId}`),
    currency: config.CHAIN_CURRENCY,
    // The gateway's own node may be a paid one; only a development node whose URL holds no secret is shown unasked.
    rpc_url: config.PUBLIC_RPC_URL ?? (development && isPublic(config.RPC_URL) ? config.RPC_URL : null),
    explorer_url: config.EXPLORER_URL ?? null,
    base_url: config.BASE_URL,
    docs_url: config.DOCS_URL,
    origin: new URL(config.APP_URL).origin,
    contracts,
    operator,
    minimum_deposit: MINIMUM_DEPOSIT_CREDITS,
    development,
  };
  return (_request, response) => {
    response.json(shown);
  };
}

const isPublic = (url: string): boolean => secretsOfUrl(url, "RPC_URL").length === 0;

/**
 * `GET /deployment.json`: the deployment file as the gateway reads it, which is what a worker's `--deployment` names. All of it can be
 * read on the chain.
 */
export function deploymentRoute({ deployment }: Config): RequestHandler {
  const file = `${JSON.stringify(deployment, null, 2)}\n`;
  return (_request, response) => {
    response.type("json").send(file);
  };
}
