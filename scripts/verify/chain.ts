import {
  type Address,
  createPublicClient,
  getAddress,
  type Hex,
  isAddressEqual,
  type PublicClient,
  zeroAddress,
} from "viem";
import type { AuditTransaction } from "../../protocol/audit/calls.ts";
import { type AuditAddresses, type ChainLog, decodeLogs } from "../../protocol/audit/event-log.ts";
import type { AuditWindows } from "../../protocol/audit/evidence.ts";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { nodeHost, nodeTransport } from "../../protocol/node-url.ts";
import { firstLine, VerifyError } from "./errors.ts";
import { LogReader } from "./log-reader.ts";

/** One node, one escrow: all that a verifier trusts. */
export class Chain {
  readonly client: PublicClient;
  readonly logs: LogReader;
  readonly chainId: number;
  readonly addresses: AuditAddresses;
  readonly windows: AuditWindows;
  readonly disputeBond: number;
  readonly head: bigint;
  readonly startBlock: bigint;
  readonly #times = new Map<bigint, number>();

  private constructor(
    parts: Pick<Chain, "client" | "logs" | "chainId" | "addresses" | "windows" | "disputeBond" | "head" | "startBlock">,
  ) {
    this.client = parts.client;
    this.logs = parts.logs;
    this.chainId = parts.chainId;
    this.addresses = parts.addresses;
    this.windows = parts.windows;
    this.disputeBond = parts.disputeBond;
    this.head = parts.head;
    this.startBlock = parts.startBlock;
  }

  /** Connects, and makes sure that there is an escrow at that address of that chain. */
  static async open(given: {
    rpcUrl: string;
    escrow: Address;
    chainId: number | null;
    startBlock: bigint;
    span: bigint;
  }): Promise<Chain> {
    const { rpcUrl, escrow, startBlock, span } = given;
    const client = createPublicClient({ transport: nodeTransport(rpcUrl, { retryCount: 2, timeout: 20_000 }) });
    const host = nodeHost(rpcUrl);
    const chainId = await client.getChainId().catch((error: unknown) => {
      throw new VerifyError(`no node answers at ${host}: ${firstLine(error)}`);
    });
    if (given.chainId !== null && given.chainId !== chainId) {
      throw new VerifyError(
        `wrong chain: the node at ${host} is chain ${chainId}, but the stack file's escrow is on chain ${given.chainId}. Give --rpc a node of that chain, or --escrow for this one.`,
      );
    }
    const code = await client.getCode({ address: escrow });
    if (code === undefined || code === "0x") {
      throw new VerifyError(
        `there is no contract at ${escrow} on chain ${chainId} (${host}): wrong chain, or wrong --escrow`,
      );
    }
    const contract = { address: escrow, abi: inferenceEscrowAbi } as const;
    const read = <T>(value: Promise<T>): Promise<T> =>
      value.catch((error: unknown) => {
        throw new VerifyError(`the contract at ${escrow} does not answer like an InferenceEscrow: ${firstLine(error)}`);
      });
    const [stablecoin, registry, catalog, panel, windows, disputeBond, head] = await Promise.all([
      read(client.readContract({ ...contract, functionName: "token" })),
      read(client.readContract({ ...contract, functionName: "REGISTRY" })),
      read(client.readContract({ ...contract, functionName: "CATALOG" })),
      read(client.readContract({ ...contract, functionName: "PANEL" })),
      read(client.readContract({ ...contract, functionName: "windows" })),
      read(client.readContract({ ...contract, functionName: "DISPUTE_BOND" })),
      client.getBlockNumber(),
    ]);
    const serviceToken = await read(
      client.readContract({ address: registry, abi: workerRegistryAbi, functionName: "STAKE_TOKEN" }),
    );
    const addresses = { escrow, stablecoin, registry, catalog, panel, serviceToken, treasury: [] };
    return new Chain({
      client,
      chainId,
      addresses,
      windows,
      disputeBond,
      head,
      startBlock,
      logs: new LogReader(client, span),
    });
  }

  /** Block times of these blocks, read once each. */
  async readTimes(blocks: Iterable<bigint>): Promise<void> {
    const missing = [...new Set(blocks)].filter((block) => !this.#times.has(block));
    const found = await Promise.all(missing.map((blockNumber) => this.client.getBlock({ blockNumber })));
    for (const { number, timestamp } of found) this.#times.set(number, Number(timestamp));
  }

  /** Time of a block that `readTimes` has read. */
  timeOf = (block: bigint): number => {
    const time = this.#times.get(block);
    if (time === undefined) throw new Error(`the time of block ${block} was not read`);
    return time;
  };

  /** The first block whose time is at least `time`; the head's successor if there is none. */
  async firstBlockAt(time: number): Promise<bigint> {
    let low = 0n;
    let high = this.head + 1n;
    while (low < high) {
      const middle = (low + high) / 2n;
      await this.readTimes([middle]);
      if (this.timeOf(middle) >= time) high = middle;
      else low = middle + 1n;
    }
    return low;
  }

  /** A mined transaction with its logs. */
  async transaction(hash: Hex): Promise<{ transaction: AuditTransaction; logs: ChainLog[] }> {
    const { transaction, receipt } = await this.#minedTransaction(hash);
    if (receipt.status !== "success") {
      throw new VerifyError(`transaction ${hash} reverted in block ${receipt.blockNumber}: it changed nothing`);
    }
    const { from, to, input } = transaction;
    return {
      transaction: {
        hash,
        from: getAddress(from),
        to: to === null ? null : getAddress(to),
        input,
        block: receipt.blockNumber,
      },
      logs: receipt.logs as unknown as ChainLog[],
    };
  }

  async #minedTransaction(hash: Hex) {
    const transaction = await this.client.getTransaction({ hash }).catch(() => null);
    if (transaction === null) {
      throw new VerifyError(
        `chain ${this.chainId} does not know transaction ${hash}: wrong chain, or it was never sent or dropped`,
      );
    }
    if (transaction.blockNumber === null) {
      throw new VerifyError(`transaction ${hash} is pending: it is not mined yet. Ask again later.`);
    }
    return { transaction, receipt: await this.client.getTransactionReceipt({ hash }) };
  }

  /** The job as the escrow stores it; null if there is none. */
  async storedJob(jobId: Hex) {
    const { escrow, registry } = this.addresses;
    const job = await this.client.readContract({
      address: escrow,
      abi: inferenceEscrowAbi,
      functionName: "jobOf",
      args: [jobId],
      blockNumber: this.head,
    });
    if (job.status === 0) return null;
    const worker = await this.client.readContract({
      address: registry,
      abi: workerRegistryAbi,
      functionName: "signerOf",
      args: [job.worker],
    });
    return { ...job, worker: isAddressEqual(worker, zeroAddress) ? null : worker };
  }

  /** Digest and charge of a proven job, as the escrow stores them. */
  async storedProof(jobId: Hex): Promise<{ digest: Hex; credits: number }> {
    const [digest, credits] = await this.client.readContract({
      address: this.addresses.escrow,
      abi: inferenceEscrowAbi,
      functionName: "proofOf",
      args: [jobId],
      blockNumber: this.head,
    });
    return { digest, credits };
  }

  decode(logs: readonly ChainLog[]) {
    return decodeLogs(logs, this.addresses);
  }
}
