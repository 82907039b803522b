/** A node with the deployed protocol and people on it who know nothing but the ABI, the addresses and their own keys. */
import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  type TransactionReceipt,
  toBytes,
  zeroHash,
} from "viem";
import { mnemonicToAccount, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { anvil } from "viem/chains";
import { answerHash } from "../../../protocol/answer-hash.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  testStablecoinAbi,
  workerRegistryAbi,
} from "../../../protocol/generated/abi.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import {
  type Acknowledgement,
  type Assignment,
  type Completion,
  compactSignature,
  enrollmentTypes,
  escrowDomain,
  jobMessageTypes,
  registryDomain,
} from "../../../protocol/messages.ts";
import { signedCompletion } from "../../../protocol/words.ts";
import { mined } from "../../support/mined.ts";
import { testContract } from "../../support/test-contract.ts";
import { client, gateway, newWorker, startChain } from "../../worker/support/chain.ts";

const MNEMONIC = "test test test test test test test test test test test junk";
const account = (addressIndex: number) => mnemonicToAccount(MNEMONIC, { addressIndex });

/** Development accounts in the roles that scripts/deploy gives them. */
export const people = {
  gateway,
  client,
  svcHolder: account(2),
  stranger: account(4),
  guardian: account(6),
  arbiters: [account(7), account(8), account(9)] as const,
};
export const WORKER_KEY = keccak256(toBytes("a worker of the verifier's tests"));
const OTHER_WORKER_KEY = keccak256(toBytes("another worker of the verifier's tests"));
export const workerKey = privateKeyToAccount(WORKER_KEY);
export const otherWorkerKey = privateKeyToAccount(OTHER_WORKER_KEY);
/** Numbers of `Ruling`. */
export const Ruling = { None: 0, WorkerAtFault: 1, GatewayAtFault: 2, Rejected: 3 } as const;
/** Number of qwen3-8b (8 credits a request, 4 per 1,000 tokens). */
export const MODEL = 5;
export const ANSWER = "An honest answer.\nIt has two lines.";
const FOREVER = 2 ** 40 - 1;

export type Sender = typeof gateway | PrivateKeyAccount;
export type Protocol = Awaited<ReturnType<typeof startProtocol>>;
type Call = { functionName: string; args: readonly unknown[] };

/** The stranger registers a worker with this key, without a stake and without models. */
export async function registerStranger(p: Protocol, key: PrivateKeyAccount, endpoint: string): Promise<void> {
  const { address: owner } = people.stranger;
  const domain = registryDomain(p.chain.deployment.chainId, p.registry.address);
  const about = { domain, types: enrollmentTypes, primaryType: "Enrollment", message: { owner } } as const;
  const enrollment = compactSignature(await key.signTypedData(about));
  await p.send(people.stranger, p.registry, "register", [key.address, owner, endpoint, [], 0n, enrollment]);
}

/** Deploys, registers two workers, and gives the client 100,000 credits. */
export async function startProtocol(windows: Record<string, number> = {}) {
  const chain = await startChain(windows, true);
  const { rpc } = chain;
  const { contracts } = chain.deployment;
  const registered = [WORKER_KEY, OTHER_WORKER_KEY].map((privateKey) => newWorker(privateKey, ["qwen3-8b"]));
  await chain.register(await Promise.all(registered));
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const at = {
    escrow,
    catalog: { address: contracts.ModelCatalog, abi: modelCatalogAbi },
    registry: { address: contracts.WorkerRegistry, abi: workerRegistryAbi },
    panel: { address: contracts.ArbitrationPanel, abi: arbitrationPanelAbi },
    token: { address: contracts.Stablecoin, abi: testStablecoinAbi },
  } as const;

  /** Sends a call and waits; throws when it reverts. */
  const send = async <A extends Abi, N extends ContractFunctionName<A, "nonpayable" | "payable">>(
    from: Sender,
    { address, abi }: { address: Address; abi: A },
    functionName: N,
    args: ContractFunctionArgs<A, "nonpayable" | "payable", N>,
  ): Promise<TransactionReceipt> => {
    const data = encodeFunctionData({ abi, functionName, args } as EncodeFunctionDataParameters);
    return await mined(rpc, await rpc.sendTransaction({ account: from, to: address, data, chain: anvil }));
  };
  const read = rpc.readContract;
  const now = async () => Number((await rpc.getBlock()).timestamp);
  const domain = escrowDomain(chain.deployment.chainId, escrow.address);
  const sign = async (
    key: Sender,
    primaryType: "Assignment" | "Acknowledgement" | "Completion",
    message: Assignment | Acknowledgement | Completion,
  ) =>
    compactSignature(
      await key.signTypedData({ domain, types: jobMessageTypes, primaryType, message } as Parameters<
        PrivateKeyAccount["signTypedData"]
      >[0]),
    );

  /** A Completion of 100 tokens (8 credits), finished in the second of the lock. */
  const completionOf = async (jobId: Hex, more: Partial<Completion> = {}): Promise<Completion> => {
    const { lockedAt } = await read({ ...escrow, functionName: "jobOf", args: [jobId] });
    const usual = {
      jobId,
      proofHash: answerHash(ANSWER),
      promptTokens: 7,
      completionTokens: 100,
      reasoningTokens: 0,
      textBytes: 16_000,
      completedAt: lockedAt,
    };
    return { ...usual, ...more };
  };
  const lockCall = (jobId: Hex, maxTokens = 2_000, wallet: Address = client.address): Call => ({
    functionName: "lock",
    args: [wallet, MODEL, jobId, maxTokens, 1_000_000, FOREVER],
  });
  const completeCall = async (completion: Completion, key: Sender = workerKey): Promise<Call> => ({
    functionName: "complete",
    args: [
      completion,
      completion.completionTokens + completion.reasoningTokens,
      await sign(key, "Completion", completion),
      client.address,
    ],
  });
  const encode = (call: Call) =>
    encodeFunctionData({ abi: inferenceEscrowAbi, ...call } as EncodeFunctionDataParameters);
  const batch = (from: Sender, calls: Call[]) => send(from, escrow, "execute", [calls.map(encode)]);
  /** A contract of the sender's that calls the escrow: no verifier finds the calls in its calldata. */
  const forwarder = async (from: Sender): Promise<(calls: Call[]) => Promise<TransactionReceipt>> => {
    const { abi, bytecode } = testContract("ContractWallet");
    const { contractAddress } = await mined(
      rpc,
      await rpc.deployContract({ abi, bytecode, account: from, chain: anvil }),
    );
    return async (calls) => {
      const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "execute", args: [calls.map(encode)] });
      return await send(from, { address: contractAddress as Address, abi }, "execute", [escrow.address, data] as never);
    };
  };

  const lock = async (maxTokens?: number): Promise<Hex> => {
    const jobId = newJobId();
    await batch(gateway, [lockCall(jobId, maxTokens)]);
    return jobId;
  };
  const settle = async (more: Partial<Completion> = {}, maxTokens?: number) => {
    const jobId = await lock(maxTokens);
    const completion = await completionOf(jobId, more);
    const receipt = await batch(gateway, [await completeCall(completion)]);
    return { jobId, completion, receipt };
  };
  /** The worker proves its job without the gateway; `relay` sends its calls. */
  const prove = async (
    relay = (calls: Call[]) => batch(people.stranger, calls),
    more: Partial<Completion> = {},
    maxTokens?: number,
  ) => {
    const jobId = await lock(maxTokens);
    const completion = await completionOf(jobId, more);
    const assignment = { jobId, worker: workerKey.address, attempt: 1, acknowledgeBy: (await now()) + 60 };
    const acknowledge = {
      functionName: "acknowledge",
      args: [
        assignment,
        await sign(gateway, "Assignment", assignment),
        await sign(workerKey, "Acknowledgement", { jobId, attempt: 1 }),
      ],
    };
    const submitProof = {
      functionName: "submitProof",
      args: [completion, await sign(workerKey, "Completion", completion)],
    };
    const receipt = await relay([acknowledge, submitProof]);
    return { jobId, completion, receipt };
  };
  /** What the worker signed for a job, as the chain shows it to everybody. */
  const signedIn = async (jobId: Hex): Promise<{ completion: Completion; signature: { r: Hex; vs: Hex } }> => {
    const about = { ...escrow, args: { jobId }, fromBlock: 0n } as const;
    const [settled] = await rpc.getContractEvents({ ...about, eventName: "JobSettled", strict: true });
    if (settled !== undefined) {
      const { r, vs } = settled.args;
      return { completion: signedCompletion(settled.args), signature: { r, vs } };
    }
    const [proven] = await rpc.getContractEvents({ ...about, eventName: "JobProven", strict: true });
    if (proven === undefined) throw new Error(`the chain shows no proof of ${jobId}`);
    const completion = signedCompletion(proven.args);
    // A proven Completion is on record: nobody needs its signature.
    return { completion, signature: { r: zeroHash, vs: zeroHash } };
  };
  const dispute = async (by: Sender, jobId: Hex, received: Hex = answerHash("something else")) => {
    const { completion, signature } = await signedIn(jobId);
    return await send(by, escrow, "openDispute", [received, completion, signature]);
  };
  /** The wallet adds its own hash to its operator's dispute, so that the arbiters can rule at once. */
  const join = (jobId: Hex, received: Hex = answerHash("something else")) =>
    send(client, escrow, "joinDispute", [jobId, received]);
  /** Two of three arbiters vote: a quorum. */
  const vote = async (jobId: Hex, ruling: number) => {
    await send(people.arbiters[0], at.panel, "vote", [jobId, ruling]);
    return await send(people.arbiters[1], at.panel, "vote", [jobId, ruling]);
  };
  /** The next block is this much later. */
  const later = async (seconds: number) => {
    await rpc.increaseTime({ seconds });
    await rpc.mine({ blocks: 1 });
  };
  return {
    ...at,
    chain,
    rpc,
    read,
    send,
    batch,
    forwarder,
    now,
    later,
    sign,
    lockCall,
    completeCall,
    completionOf,
    lock,
    settle,
    prove,
    signedIn,
    dispute,
    join,
    vote,
    stop: chain.stop,
  };
}
