import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import { GATEWAY } from "./accounts.ts";
import type { StackContext } from "./context.ts";
import { StackError } from "./errors.ts";
import { readText } from "./files.ts";
import { taskSpec } from "./programs.ts";
import { rpc } from "./rpc.ts";

/** Deploys the contracts unless this chain has them. Returns the deployment. */
export async function ensureDeployed(context: StackContext): Promise<{ says: string; value: Deployment }> {
  const known = readDeployment(context.deploymentFile);
  if (known !== null) {
    if (await isOnChain(context, known))
      return { says: `deployed at ${known.contracts.InferenceEscrow}`, value: known };
    context.report(
      "contracts",
      "the chain does not have the contracts any more (it was lost): they are deployed again, with empty balances",
    );
  }
  const { windows } = context.options;
  await context.supervisor.run(
    taskSpec(context, "deploy", "scripts/deploy.ts", {
      GATEWAY_ADDRESSES: GATEWAY.address,
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

/** The same chain, and the contract on it: a new chain gives the same contracts the same addresses. */
async function isOnChain(
  { urls }: StackContext,
  { startBlock, startBlockHash, contracts }: Deployment,
): Promise<boolean> {
  const block = await rpc<{ hash: string } | null>(urls.rpc, "eth_getBlockByNumber", [
    `0x${startBlock.toString(16)}`,
    false,
  ]);
  if (block?.hash !== startBlockHash) return false;
  return (await rpc<string>(urls.rpc, "eth_getCode", [contracts.InferenceEscrow, "latest"])) !== "0x";
}
