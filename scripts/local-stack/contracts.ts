import { createPublicClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { wrongCode } from "../deploy/read-back.ts";
import { DEPLOYER_KEY, GATEWAY, OPERATOR, OPERATOR_ADMIN } from "./accounts.ts";
import type { StackContext } from "./context.ts";
import { StackError } from "./errors.ts";
import { readText } from "./files.ts";
import { provideOperator } from "./funding.ts";
import { taskSpec } from "./programs.ts";
import { rpc } from "./rpc.ts";

/** Credits that stand for the operator's faults. */
const RESERVE = 100_000;

/** Deploys the contracts unless this chain has them, and gives the operator its gateways and its reserve. Returns the deployment. */
export async function ensureDeployed(context: StackContext): Promise<{ says: string; value: Deployment }> {
  const deployed = await deployment(context);
  await provideOperator(
    { rpc_url: context.urls.rpc, contracts: deployed.value.contracts },
    {
      operator: OPERATOR,
      admin: privateKeyToAccount(OPERATOR_ADMIN.privateKey),
      signers: [GATEWAY.privateKey, ...(context.options.gatewayKeys ?? [])].map((key) => privateKeyToAccount(key)),
      funder: privateKeyToAccount(DEPLOYER_KEY),
      reserve: RESERVE,
    },
  );
  return deployed;
}

async function deployment(context: StackContext): Promise<{ says: string; value: Deployment }> {
  const known = readDeployment(context.deploymentFile);
  if (known !== null) {
    if (await isOnChain(context, known))
      return { says: `deployed at ${known.contracts.InferenceEscrow}`, value: known };
    context.report(
      "contracts",
      "the chain does not have these contracts (it was lost, or they have changed): they are deployed again, with empty balances",
    );
  }
  const { windows } = context.options;
  await context.supervisor.run(
    taskSpec(context, "deploy", "scripts/deploy.ts", {
      OPERATOR_ADMIN_ADDRESSES: OPERATOR_ADMIN.address,
      ...(windows ? { DEPLOY_WINDOWS: JSON.stringify(windows) } : {}),
      ...context.options.env.contracts,
    }),
  );
  const deployed = readDeployment(context.deploymentFile);
  if (deployed === null) throw new StackError(`scripts/deploy.ts ended well but wrote no ${context.deploymentFile}.`);
  return { says: `deployed to ${deployed.contracts.InferenceEscrow}`, value: deployed };
}

function readDeployment(file: string): Deployment | null {
  const text = readText(file);
  return text === null ? null : parseDeployment(text, file);
}

/** The same chain, and these contracts on it: a new chain gives the same contracts the same addresses. */
async function isOnChain(
  { urls }: StackContext,
  { startBlock, startBlockHash, contracts }: Deployment,
): Promise<boolean> {
  const block = await rpc<{ hash: string } | null>(urls.rpc, "eth_getBlockByNumber", [
    `0x${startBlock.toString(16)}`,
    false,
  ]);
  if (block?.hash !== startBlockHash) return false;
  const client = createPublicClient({ transport: nodeTransport(urls.rpc) });
  return (await wrongCode(client, contracts, false)).length === 0;
}
