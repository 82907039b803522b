/** The protocol in use: operator, client and worker with their keys, one method a call. */
import {
  type Abi,
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
} from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { answerHash } from "../../../protocol/answer-hash.ts";
import type { Deployment } from "../../../protocol/deployment.ts";
import * as abis from "../../../protocol/generated/abi.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import {
  type Authorization,
  authorizationTypes,
  type Completion,
  compactSignature,
  type DisputeRequest,
  disputeRequestTypes,
  enrollmentTypes,
  escrowDomain,
  jobMessageTypes,
  registryDomain,
  signerConsentTypes,
} from "../../../protocol/messages.ts";
import { mined } from "../../support/mined.ts";
import type { Chain } from "./chain.ts";
import { ARBITERS, CLIENT, DEPLOYER, GATEWAY, OPERATOR_ADMIN, WORKER, WORKER_OWNER } from "./deploy.ts";

const ESCROW_TYPES = {
  ...jobMessageTypes,
  ...authorizationTypes,
  ...disputeRequestTypes,
  ...signerConsentTypes,
};
const ABIS: Record<string, Abi> = {
  InferenceEscrow: abis.inferenceEscrowAbi as Abi,
  ModelCatalog: abis.modelCatalogAbi as Abi,
  WorkerRegistry: abis.workerRegistryAbi as Abi,
  ProtocolTreasury: abis.protocolTreasuryAbi as Abi,
  ArbitrationPanel: abis.arbitrationPanelAbi as Abi,
  ServiceToken: abis.serviceTokenAbi as Abi,
  Stablecoin: abis.testStablecoinAbi as Abi,
};
type ContractName = keyof Deployment["contracts"];
export type Call = { to: Address; abi: Abi; functionName: string; args: unknown[] };

export class World {
  readonly chain: Chain;
  readonly deployment: Deployment;
  readonly owner = privateKeyToAccount(DEPLOYER);
  readonly gateway = privateKeyToAccount(GATEWAY);
  readonly operatorAdmin = privateKeyToAccount(OPERATOR_ADMIN);
  readonly client = privateKeyToAccount(CLIENT);
  readonly workerOwner = privateKeyToAccount(WORKER_OWNER);
  readonly worker = privateKeyToAccount(WORKER);
  readonly arbiters = ARBITERS.map((key) => privateKeyToAccount(key));
  readonly reader;
  readonly #completions = new Map<Hex, Completion>();
  readonly #nonces = new Map<Address, number>();

  constructor(chain: Chain, deployment: Deployment) {
    this.chain = chain;
    this.deployment = deployment;
    this.reader = createPublicClient({ chain: foundry, transport: http(chain.url), pollingInterval: 20 });
  }

  call(contract: ContractName, functionName: string, ...args: unknown[]): Call {
    return { to: this.deployment.contracts[contract], abi: ABIS[contract] as Abi, functionName, args };
  }

  /** Sends one call in a transaction of its own and waits for it; a revert throws. */
  async send(account: PrivateKeyAccount, { to, abi, functionName, args }: Call): Promise<Hex> {
    const wallet = createWalletClient({ account, chain: foundry, transport: http(this.chain.url) });
    const nonce =
      this.#nonces.get(account.address) ?? (await this.reader.getTransactionCount({ address: account.address }));
    const hash = await wallet.writeContract({ address: to, abi, functionName, args, nonce, gas: 5_000_000n });
    this.#nonces.set(account.address, nonce + 1);
    await mined(this.reader, hash);
    return hash;
  }

  async read<T>(contract: ContractName, functionName: string, ...args: unknown[]): Promise<T> {
    const { to, abi } = this.call(contract, functionName);
    return (await this.reader.readContract({ address: to, abi, functionName, args })) as T;
  }

  async deposit(credits: number): Promise<void> {
    const { InferenceEscrow } = this.deployment.contracts;
    await this.send(this.client, this.call("Stablecoin", "mint", this.client.address, BigInt(credits) * 10_000n));
    await this.send(this.client, this.call("Stablecoin", "approve", InferenceEscrow, BigInt(credits) * 10_000n));
    await this.send(this.client, this.call("InferenceEscrow", "deposit", credits, 1));
  }

  /** Enrolls the worker, or another one, with the minimum stake or with another one, millionths of an SVC. */
  async register(models: number[], worker = this.worker, stake = 1_000_000_000n): Promise<void> {
    const { WorkerRegistry } = this.deployment.contracts;
    const owner = this.workerOwner.address;
    await this.send(this.owner, this.call("ServiceToken", "transfer", owner, 10n ** 22n));
    await this.send(this.workerOwner, this.call("ServiceToken", "approve", WorkerRegistry, 10n ** 22n));
    const domain = registryDomain(this.deployment.chainId, WorkerRegistry);
    const enrollment = await worker.signTypedData({
      domain,
      types: enrollmentTypes,
      primaryType: "Enrollment",
      message: { owner },
    });
    const args = [worker.address, owner, "https://worker.example", models, stake, compactSignature(enrollment)];
    await this.send(this.workerOwner, this.call("WorkerRegistry", "register", ...args));
  }

  async now(): Promise<number> {
    return Number((await this.reader.getBlock()).timestamp);
  }

  /** Lets block time pass. */
  async wait(seconds: number): Promise<void> {
    await this.chain.rpc("evm_increaseTime", [seconds]);
  }

  async lock(model = 5, maxTokens = 400): Promise<{ id: Hex; call: Call }> {
    const now = await this.now();
    const id = newJobId(now * 1_000);
    const validUntil = now + 1_000;
    return {
      id,
      call: this.call("InferenceEscrow", "lock", this.client.address, model, id, maxTokens, 1_000, validUntil),
    };
  }

  async acknowledge(jobId: Hex, attempt = 1): Promise<Call> {
    const acknowledgeBy = (await this.now()) + 1_000;
    const assignment = { jobId, worker: this.worker.address, attempt, acknowledgeBy };
    const byGateway = await this.#sign(this.gateway, "Assignment", assignment);
    const byWorker = await this.#sign(this.worker, "Acknowledgement", { jobId, attempt });
    return this.call("InferenceEscrow", "acknowledge", assignment, byGateway, byWorker);
  }

  /** The worker's Completion of a job and its signature: the same one again once it was made. */
  async completion(jobId: Hex, completionTokens = 120) {
    const completion = this.#completions.get(jobId) ?? {
      jobId,
      proofHash: answerHash(`answer to ${jobId}`),
      promptTokens: 10,
      completionTokens,
      reasoningTokens: 0,
      textBytes: 4 * completionTokens,
      completedAt: await this.now(),
    };
    this.#completions.set(jobId, completion);
    return { completion, signature: await this.#sign(this.worker, "Completion", completion) };
  }

  async complete(jobId: Hex, completionTokens = 120): Promise<Call> {
    const { completion, signature } = await this.completion(jobId, completionTokens);
    return this.call("InferenceEscrow", "complete", completion, completionTokens, signature, this.client.address);
  }

  async #sign(account: PrivateKeyAccount, primaryType: keyof typeof ESCROW_TYPES, message: object) {
    const domain = escrowDomain(this.deployment.chainId, this.deployment.contracts.InferenceEscrow);
    return compactSignature(
      await account.signTypedData({ domain, types: ESCROW_TYPES, primaryType, message: message as never }),
    );
  }

  /** A lock on the terms that the wallet's authorization key signs. */
  async lockAuthorized(key: PrivateKeyAccount): Promise<{ id: Hex; call: Call }> {
    const now = await this.now();
    const message: Authorization = {
      jobId: newJobId(now * 1_000),
      wallet: this.client.address,
      operator: 1,
      model: 5,
      maxTokens: 400,
      maxCredits: 8,
      requestHash: answerHash("the raw body of the request"),
      expiresAt: now + 300,
    };
    const byKey = await this.#sign(key, "Authorization", message);
    return { id: message.jobId, call: this.call("InferenceEscrow", "lockAuthorized", message, byKey) };
  }

  /** The operator's admin names another key, which consents. */
  async addSigner(key: PrivateKeyAccount): Promise<Hex> {
    const consent = await this.#sign(key, "SignerConsent", { operator: 1, admin: this.operatorAdmin.address });
    return await this.send(
      this.operatorAdmin,
      this.call("InferenceEscrow", "rotateSigners", 1, [key.address], [consent], []),
    );
  }

  async fundReserve(credits: number): Promise<void> {
    const { InferenceEscrow } = this.deployment.contracts;
    await this.send(this.owner, this.call("Stablecoin", "mint", this.owner.address, BigInt(credits) * 10_000n));
    await this.send(this.owner, this.call("Stablecoin", "approve", InferenceEscrow, BigInt(credits) * 10_000n));
    await this.send(this.owner, this.call("InferenceEscrow", "fundReserve", 1, credits));
  }

  /** Calls of the escrow in one transaction. */
  batch(calls: readonly Call[]): Call {
    const items = calls.map(({ abi, functionName, args }) => encodeFunctionData({ abi, functionName, args }));
    return this.call("InferenceEscrow", "execute", items);
  }

  async lockedJob(model = 5): Promise<Hex> {
    const { id, call } = await this.lock(model);
    await this.send(this.gateway, call);
    return id;
  }

  /** Locks and settles a job in two transactions; returns its id. */
  async settledJob(model = 5): Promise<Hex> {
    const id = await this.lockedJob(model);
    await this.send(this.gateway, await this.complete(id));
    return id;
  }

  /** A job whose worker proves its answer without its gateway. */
  async provenJob(): Promise<Hex> {
    const id = await this.lockedJob();
    // The worker has no gas; anybody may relay.
    await this.send(this.client, await this.acknowledge(id));
    const { completion, signature } = await this.completion(id);
    await this.send(this.client, this.call("InferenceEscrow", "submitProof", completion, signature));
    return id;
  }

  /** Opens a dispute of a job: by its operator's gateway or by the client's wallet. */
  async dispute(jobId: Hex, receivedHash: Hex, by: PrivateKeyAccount): Promise<Hex> {
    const { completion, signature } = await this.completion(jobId);
    return await this.send(by, this.call("InferenceEscrow", "openDispute", receivedHash, completion, signature));
  }

  /** The client's dispute key signs; the gateway brings it. It opens a dispute, or joins the operator's. */
  async disputeByKey(jobId: Hex, receivedHash: Hex, key: PrivateKeyAccount): Promise<Hex> {
    const { completion, signature } = await this.completion(jobId);
    type DisputeKey = readonly [key: Address, sequence: number, mostOpen: number, open: number];
    const [, keySequence] = await this.read<DisputeKey>("InferenceEscrow", "disputeKeyOf", this.client.address);
    const [maxBond, expiresAt] = [8, (await this.now()) + 300];
    const workerHash = completion.proofHash;
    const message: DisputeRequest = { jobId, receivedHash, workerHash, maxBond, keySequence, expiresAt };
    const byKey = await this.#sign(key, "DisputeRequest", message);
    const args = [receivedHash, completion, signature, maxBond, expiresAt, byKey];
    return await this.send(this.gateway, this.call("InferenceEscrow", "disputeByKey", ...args));
  }

  async vote(jobId: Hex, ruling: number, arbiter: number): Promise<Hex> {
    const account = this.arbiters[arbiter] as PrivateKeyAccount;
    return await this.send(account, this.call("ArbitrationPanel", "vote", jobId, ruling));
  }

  /** Two of three arbiters agree; returns the transaction of the ruling. */
  async rule(jobId: Hex, ruling: number): Promise<Hex> {
    await this.vote(jobId, ruling, 0);
    return await this.vote(jobId, ruling, 1);
  }

  /** Shows that the worker signed two Completions for a job. */
  async equivocate(jobId: Hex): Promise<Hex> {
    const { completion, signature } = await this.completion(jobId);
    const second = { ...completion, proofHash: answerHash("another answer") };
    const args = [completion, signature, second, await this.#sign(this.worker, "Completion", second)];
    return await this.send(this.client, this.call("InferenceEscrow", "proveEquivocation", ...args));
  }
}
