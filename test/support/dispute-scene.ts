import type pg from "pg";
import { type Abi, type Address, createWalletClient, type Hex, http } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { runOperator } from "../../operator/main.ts";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { type ApiClient, chat, eventually, type KnownStack } from "./api-client.ts";
import { type ChainReader, chainReader } from "./chain-reader.ts";
import { Client, openStore } from "./client.ts";
import { Contract } from "./contract.ts";
import { mined } from "./mined.ts";

/** What a client claims that got another text. */
export const OTHER = toProofHash(answerHash("something else"));
export const hashOf = (text: string) => toProofHash(answerHash(text));

/** What the tests of disputes do: as a client, as its arbiters, and to the clock of the stored jobs. */
export class Scene {
  readonly stack: KnownStack;
  readonly client: Client;
  readonly pool: pg.Pool;
  readonly chain: ChainReader;
  readonly api: ApiClient;
  #contract: Promise<Contract> | undefined;

  private constructor(stack: KnownStack, pool: pg.Pool, client: Client) {
    this.stack = stack;
    this.pool = pool;
    this.client = client;
    this.api = client.api;
    this.chain = chainReader(stack);
  }

  static async open(stack: KnownStack): Promise<Scene> {
    const pool = openStore(stack);
    return new Scene(stack, pool, await Client.funded(stack, pool, 5_000));
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  async dispute(jobId: string, hash: string = OTHER, api = this.api) {
    return await this.disputeWith({ received_output_hash: hash }, jobId, api);
  }

  async disputeWith(body: object, jobId: string, api = this.api) {
    const path = "/v1/jobs/{job_id}/dispute";
    return await this.#checked(path, "post", await api.request("POST", path.replace("{job_id}", jobId), body));
  }

  async job(jobId: string) {
    return await this.#checked("/v1/jobs/{job_id}", "get", await this.api.request("GET", `/v1/jobs/${jobId}`));
  }

  /** Holds an answer against the OpenAPI document, whatever it is. */
  async #checked(path: string, method: "get" | "post", response: Response) {
    this.#contract ??= Contract.of(this.stack.info.base_url);
    const body = await (await this.#contract).check(method, path, response);
    return { status: response.status, headers: response.headers, body };
  }

  /** Open disputes as arbiters see them: from the chain alone. */
  async arbitersList(deploymentFile: string): Promise<{ job_id: string; to_read: string | null }[]> {
    const env = { RPC_URL: this.stack.info.rpc_url, DEPLOYMENT_FILE: deploymentFile };
    return JSON.parse(await runOperator(["disputes", "list", "--json"], env));
  }

  async status(jobId: string): Promise<string> {
    return (await this.job(jobId)).body.status;
  }

  /** Asks, and waits for the settlement. */
  async settledJob(model: string): Promise<{ id: string; text: string }> {
    const reply = await this.api.post("/v1/chat/completions", chat(model, "Hello"));
    if (reply.status !== 200) throw new Error(`no answer: ${JSON.stringify(reply.body)}`);
    const id = reply.headers.get("x-service-job-id") as string;
    await eventually(
      () => this.status(id),
      (status) => status === "settled",
    );
    return { id, text: reply.body.choices[0].message.content };
  }

  /** Moves the final token of a job's answer into the past. */
  async answeredAgo(jobId: string, seconds: number): Promise<void> {
    await this.pool.query("UPDATE job SET final_token_at = now() - make_interval(secs => $2) WHERE job_id = $1", [
      jobId,
      seconds,
    ]);
  }

  /** As if a first request had arrived that much after the final token, to the microsecond. */
  async arrivedAfter(jobId: string, seconds: number, hash: string = OTHER): Promise<void> {
    await this.pool.query(
      `INSERT INTO dispute_request (job_id, received_hash, wallet, gateway, arrived_at, outcome)
       SELECT job_id, $3, wallet, gateway, final_token_at + make_interval(secs => $2), 'not_settled' FROM job WHERE job_id = $1`,
      [jobId, seconds, `0x${hash.slice(7)}`],
    );
  }

  /** A transaction of somebody's, mined; a revert throws. */
  async send(account: PrivateKeyAccount, to: string, abi: Abi, functionName: string, args: unknown[]): Promise<Hex> {
    const wallet = createWalletClient({ account, transport: http(this.stack.info.rpc_url) });
    const hash = await wallet.writeContract({ address: to as Address, abi, functionName, args, chain: null });
    await mined(this.chain.client, hash);
    return hash;
  }

  contract(name: string): string {
    return this.stack.info.contracts[name] as string;
  }

  rpc(method: string, params: unknown[] = []): Promise<unknown> {
    return this.chain.client.request({ method: method as never, params: params as never });
  }

  chainId(jobId: string): Hex {
    return fromApiJobId(jobId) as Hex;
  }
}
