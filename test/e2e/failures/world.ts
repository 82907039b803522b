import { type ApiClient, apiClient, eventually } from "../../support/api-client.ts";
import { type ChainReader, chainReader } from "../../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

/** Models: of a worker that never answers, of a slow one, of two of which one is played by a test, of one that is well. */
export const MUTE = "qwen3-14b";
export const SLOW = "mistral-7b-instruct-v0.3";
export const SHARED = "gemma-3-27b-it";
export const HEALTHY = "qwen3-8b";
export const COMPLETION_SECONDS = 15;

/** A service whose windows are short, with a worker of each kind. */
export class World {
  stack!: TestStack;
  api!: ApiClient;
  chain!: ChainReader;
  /** Whose key the tests have. */
  wallet!: string;

  async open(): Promise<void> {
    this.stack = await startTestStack({
      windows: { completion: COMPLETION_SECONDS, inclusion: 10, finalization: 3 },
      env: {
        api: { ACKNOWLEDGE_SECONDS: "3" },
        workers: { WORKER_ACKNOWLEDGE_MARGIN: "1", WORKER_SETTLEMENT_POLL_MS: "200" },
      },
      workers: [
        { models: [HEALTHY, SHARED] },
        { models: [MUTE], env: { WORKER_FIRST_TOKEN_MS: "600000" } },
        { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "20" } },
        { models: [SHARED], start: false },
      ],
    });
    this.api = apiClient(this.stack);
    this.chain = chainReader(this.stack);
    this.wallet = this.stack.info.demo?.wallet as string;
  }

  async close(): Promise<void> {
    await this.stack?.remove();
  }

  async account() {
    const { free, escrowed } = await this.chain.account(this.wallet);
    return { free, escrowed };
  }

  /** Waits until the API offers the model, or does not. */
  async isListed(model: string, listed = true): Promise<void> {
    await eventually(
      () => this.api.get("/v1/models"),
      ({ body }) => body.data.some((entry: { id: string }) => entry.id === model) === listed,
    );
  }
}
