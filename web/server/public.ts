/** The routes that need no sign-in. Below /app/api. */
import { existsSync, readFileSync } from "node:fs";
import type { RequestHandler } from "express";
import type { Config } from "../../api/config.ts";
import { DEV_CHAIN_ID } from "../../protocol/deployment.ts";
import { MINIMUM_DEPOSIT_CREDITS } from "../../protocol/money.ts";
import { secretsOfUrl } from "../../shared/redact.ts";
import { EVENT_NAMES, EVENTS } from "../../webhooks/events.ts";
import type * as contract from "../contract.ts";

type DisputeTimes = { dispute: number; inclusion: number };

/**
 * `GET /config`: what the application must know before anyone signs in; its page holds it, too. Deposits name `operator`. Seconds to
 * dispute count from the answer's end for the service, and from the settlement for the wallet itself. No secrets.
 */
export function publicConfig(
  config: Config,
  operator: number,
  { dispute, inclusion }: DisputeTimes,
): contract.AppConfig {
  const { chainId, contracts, startBlock } = config.deployment;
  const development = chainId === DEV_CHAIN_ID;
  return {
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
    start_block: startBlock,
    operator,
    minimum_deposit: MINIMUM_DEPOSIT_CREDITS,
    webhook_events: EVENT_NAMES.map((name) => ({ name, meaning: EVENTS[name].meaning })),
    dispute_seconds: dispute,
    wallet_dispute_seconds: dispute + inclusion,
    development,
  };
}

/**
 * `GET /demo`: on a local stack the keys of its demo account, so that the playground works at once and nobody needs a wallet to look around.
 * `DEMO_FILE` names the stack's file; the gateway refuses to start with it on any other chain. Read anew each time: the account is made after the gateway's start.
 */
export function demoRoute({ DEMO_FILE }: Config): RequestHandler {
  return ({ hostname }, response) => {
    // A page of another site can have its name lead here, but not ask for one of these.
    const isLocal = ["127.0.0.1", "localhost", "[::1]", "::1"].includes(hostname);
    const stack =
      !isLocal || DEMO_FILE === undefined || !existsSync(DEMO_FILE) ? {} : JSON.parse(readFileSync(DEMO_FILE, "utf8"));
    response.json({ api_key: stack.demo?.api_key ?? null, private_key: stack.demo?.private_key ?? null });
  };
}

const isPublic = (url: string): boolean => secretsOfUrl(url, "RPC_URL").length === 0;

/**
 * `GET /deployment.json`: the deployment file as the gateway reads it, which is what a worker's `--deployment` names.
 * All of it can be read on the chain.
 */
export function deploymentRoute({ deployment }: Config): RequestHandler {
  const file = `${JSON.stringify(deployment, null, 2)}\n`;
  return (_request, response) => {
    response.type("json").send(file);
  };
}
