/** What an independent verifier can see: one RPC node, the ABI, nothing of the service. */
import { type Address, createPublicClient, erc20Abi, type Hex, http, type Log, parseEventLogs } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import type { KnownStack } from "./api-client.ts";

export function chainReader(stack: KnownStack) {
  const client = createPublicClient({ transport: http(stack.info.rpc_url), pollingInterval: 50 });
  const escrow = stack.info.contracts.InferenceEscrow as Address;
  const stablecoin = stack.info.contracts.Stablecoin as Address;
  const contract = { address: escrow, abi: inferenceEscrowAbi } as const;

  /** Escrow events and token transfers of one transaction that concern one job. */
  async function transaction(hash: Hex, jobId: string) {
    const receipt = await receiptOf(client, hash, { timeout: 60_000, interval: 50 });
    const ours = parseEventLogs({ abi: inferenceEscrowAbi, logs: receipt.logs as Log[] }).filter(
      (event) => "jobId" in event.args && event.args.jobId === fromApiJobId(jobId),
    );
    const transfers = parseEventLogs({ abi: erc20Abi, logs: receipt.logs as Log[], eventName: "Transfer" }).filter(
      (event) => event.address.toLowerCase() === stablecoin.toLowerCase(),
    );
    return { receipt, events: ours, transfers: transfers.map((event) => event.args) };
  }

  return {
    client,
    escrow,
    transaction,
    job: (jobId: string) =>
      client.readContract({ ...contract, functionName: "jobOf", args: [fromApiJobId(jobId) as Hex] }),
    account: (wallet: string) =>
      client.readContract({ ...contract, functionName: "accountOf", args: [wallet as Address] }),
    liabilities: () => client.readContract({ ...contract, functionName: "liabilities" }),
    held: (owner: string = escrow) =>
      client.readContract({ address: stablecoin, abi: erc20Abi, functionName: "balanceOf", args: [owner as Address] }),
    allowance: (owner: string) =>
      client.readContract({
        address: stablecoin,
        abi: erc20Abi,
        functionName: "allowance",
        args: [owner as Address, escrow],
      }),
    treasury: () => client.readContract({ ...contract, functionName: "treasury" }),
  };
}

export type ChainReader = ReturnType<typeof chainReader>;
