import { createWalletClient, type Hex, http, type PublicClient } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { completeOperation, type Operation } from "../../../../api/chain/operations.ts";
import { eventOf, type Outcome } from "../../../../api/chain/outcome.ts";
import type { Pipeline } from "../../../../api/chain/pipeline.ts";
import { answerHash } from "../../../../protocol/answer-hash.ts";
import { jobDigests } from "../../../../protocol/digests.ts";
import { serviceTokenAbi, workerRegistryAbi } from "../../../../protocol/generated/abi.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../../../protocol/messages.ts";
import { mined } from "../../../support/mined.ts";
import { account, lock, owner, type World } from "./world.ts";

/** Holds the stake tokens of a development chain; its key is public. */
const holder = privateKeyToAccount("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a");
const MODEL = 8;
const STAKE = 1_000_000_000n;
const TOKENS_PER_STAKE = 10n ** 12n;

/** Registers a worker with a signing key of its own; returns that. */
async function registerWorker({ stack, node }: World) {
  const worker = privateKeyToAccount(generatePrivateKey());
  const { WorkerRegistry, ServiceToken } = stack.info.contracts as Record<string, Hex>;
  const wallet = createWalletClient({ account: holder, transport: http(stack.info.rpc_url) });
  const send = async (hash: Promise<Hex>) => mined(node as unknown as PublicClient, await hash);
  const token = { address: ServiceToken as Hex, abi: serviceTokenAbi, chain: null } as const;
  const registry = { address: WorkerRegistry as Hex, abi: workerRegistryAbi, chain: null } as const;
  const allowance = [registry.address, STAKE * TOKENS_PER_STAKE] as const;
  await send(wallet.writeContract({ ...token, functionName: "approve", args: allowance }));
  const enrollment = await worker.signTypedData({
    domain: registryDomain(stack.info.chain_id, registry.address),
    types: enrollmentTypes,
    primaryType: "Enrollment",
    message: { owner: holder.address },
  });
  const consent = compactSignature(enrollment);
  const args = [worker.address, holder.address, "https://worker.example", [MODEL], STAKE, consent] as const;
  await send(wallet.writeContract({ ...registry, functionName: "register", args }));
  return worker;
}

/** Locks a job, which gets a row, and returns its settlement. */
export async function answeredJob(
  world: World,
  { pipeline, head }: Awaited<ReturnType<World["start"]>>,
): Promise<Operation> {
  const worker = await registerWorker(world);
  const operation = lock(head, { model: MODEL });
  const { jobId } = operation;
  const row = { jobId, wallet: owner.address, gateway: account.address, model: "m", tier: "lite" } as const;
  const locked = await pipeline.submit(operation, { ...row, validUntil: 1_900_000_000, creditsLocked: 2 }).mined;
  if (locked.status !== "mined") throw new Error(`not locked: ${locked.revert.name}`);
  const { blockTime } = locked;
  const tokens = { promptTokens: 3, completionTokens: 4 };
  const completion = { jobId, proofHash: answerHash("The answer."), ...tokens, completedAt: blockTime };
  const digests = jobDigests(world.stack.info.chain_id, world.stack.info.contracts["InferenceEscrow"] as Hex);
  const signature = await worker.sign({ hash: digests.completion(completion) });
  return completeOperation(completion, signature, 4, owner.address, (blockTime + 150) * 1000);
}

/** Settles the job as the gateway does: whoever submits it writes its row. Returns the transaction. */
export async function settle(world: World, pipeline: Pipeline, settlement: Operation): Promise<Hex> {
  const outcome: Outcome = await pipeline.submit(settlement).mined;
  if (outcome.status !== "mined") throw new Error(`not settled: ${outcome.revert.name}`);
  await world.store.settled({
    jobId: settlement.jobId,
    settlementTx: outcome.hash,
    settlementBlock: outcome.blockNumber,
    settledAt: outcome.blockTime,
    creditsCharged: eventOf(outcome, "JobSettled")?.args.credits as number,
  });
  return outcome.hash;
}

/** Where the chain has the settlement, as its job's row should tell. */
export async function placeOf(world: World, hash: Hex) {
  const { blockNumber } = await world.node.getTransactionReceipt({ hash });
  const { timestamp } = await world.node.getBlock({ blockNumber });
  return {
    state: "settled",
    settlementTx: hash,
    settlementBlock: Number(blockNumber),
    settledAt: Number(timestamp),
  };
}
