import { createHash } from "node:crypto";
import OpenAI from "openai";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { type ApiClient, apiClient, eventually } from "../../support/api-client.ts";
import { type ChainReader, chainReader } from "../../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

/** A whole stack, its demo client, and the chain as a stranger sees it. */
export class World {
  stack!: TestStack;
  api!: ApiClient;
  chain!: ChainReader;
  openai!: OpenAI;

  async open(): Promise<void> {
    this.stack = await startTestStack();
    this.api = apiClient(this.stack);
    this.chain = chainReader(this.stack);
    const { base_url, demo } = this.stack.info;
    this.openai = new OpenAI({ baseURL: `${base_url}/v1`, apiKey: demo?.api_key as string });
  }

  async close(): Promise<void> {
    await this.stack?.remove();
  }

  /** The job, once it is settled and indexed. */
  async settled(id: string) {
    const { body } = await eventually(
      () => this.api.get(`/v1/jobs/${id}`),
      (job) => job.body.status === "settled" && job.body.on_chain.block_number !== null,
    );
    return body;
  }

  /** Waits until one of the gateway's metrics has this value. */
  async metric(name: string, value: number): Promise<void> {
    const text = async () => (await fetch(`${this.stack.info.base_url}/metrics`)).text();
    await eventually(text, (now) => now.split("\n").includes(`${name} ${value}`));
  }

  /** Jobs that were ever locked. */
  async locks(): Promise<number> {
    const question = { address: this.chain.escrow, abi: inferenceEscrowAbi, eventName: "JobLocked" } as const;
    return (await this.chain.client.getContractEvents({ ...question, fromBlock: 0n })).length;
  }

  /** Waits until no job holds credits: what earlier tests started is settled. */
  async quiet(): Promise<void> {
    const wallet = this.stack.info.demo?.wallet as string;
    await eventually(
      () => this.chain.account(wallet),
      ({ escrowed }) => escrowed === 0,
    );
  }

  /** The ledger's debts, in token units, and the tokens that cover them, while no job is under way. */
  async solvency() {
    await this.quiet();
    const [[credits, claimable], held] = await Promise.all([this.chain.liabilities(), this.chain.held()]);
    return { owed: credits * 10_000n + claimable, held };
  }
}

export const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
export const jobIdOf = (completionId: string) => completionId.replace("chatcmpl-", "");
