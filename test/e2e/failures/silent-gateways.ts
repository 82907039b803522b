import pg from "pg";
import { type Address, createWalletClient, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { chat, eventually } from "../../support/api-client.ts";
import { mined } from "../../support/mined.ts";
import { HEALTHY, MUTE, SLOW, type World } from "./world.ts";

/** Gateways that are gone when an answer is finished. */
export function silentGateways(world: World): void {
  describe("a gateway that goes silent after the acknowledgement", () => {
    it("does not cost the worker its pay: it proves and finalizes the job itself", async () => {
      const worker = world.stack.workers[2] as (typeof world.stack.workers)[number];
      const payee = privateKeyToAccount(worker.privateKey).address;
      await giveGas(world, payee);
      await world.isListed(SLOW);
      const before = await world.account();
      const response = await world.api.request(
        "POST",
        "/v1/chat/completions",
        // Eight seconds of text: the gateway is gone before its end.
        chat(SLOW, "Write. [[tokens:160]]", { stream: true }),
      );
      const jobId = response.headers.get("x-service-job-id") as string;
      const reading = response.text().catch(() => "cut");
      await eventually(
        () => world.chain.job(jobId),
        (job) => job.status === ChainStatus.Acknowledged,
      );
      await world.stack.kill("api");
      await reading;
      const held = await world.chain.held(payee);
      const status = async () => (await world.chain.job(jobId)).status;
      await eventually(status, (now) => now === ChainStatus.Proven || now === ChainStatus.Settled);
      await eventually(status, (now) => now === ChainStatus.Settled);
      // Eight credits, less the protocol's 10 %.
      expect((await world.chain.held(payee)) - held).toBe(72_000n);
      expect(await world.account()).toEqual({ free: before.free - 8, escrowed: 0 });

      await world.stack.restart("api");
      const job = await eventually(
        () => world.api.get(`/v1/jobs/${jobId}`),
        ({ body }) => body.status === "settled" && body.on_chain.settlement_tx !== null,
      );
      expect(job.body).toMatchObject({ credits_charged: 8, worker_address: payee });
    });
  });

  describe("a gateway whose database has lost a job that nobody answers", () => {
    it("returns its credits once its time is long over", async () => {
      await world.isListed(MUTE);
      const before = await world.account();
      const asked = world.api.post("/v1/chat/completions", chat(MUTE, "Are you there?")).catch(() => null);
      const newest = await eventually(
        () => world.api.get(`/v1/jobs?model=${MUTE}&limit=1`),
        ({ body }) => ["pending", "processing"].includes(body.data[0]?.status),
      );
      const jobId = newest.body.data[0].id as string;
      await world.stack.kill("api");
      await asked;
      await loseJob(world, jobId);
      await world.stack.restart("api");
      await eventually(
        async () => (await world.chain.job(jobId)).status,
        (status) => status === ChainStatus.Refunded,
        90_000,
      );
      expect(await world.account()).toEqual(before);
    }, 150_000);
  });

  describe("a gateway that is killed while a worker answers", () => {
    it.each([
      ["", async () => {}],
      [", although it was killed before it had noted which worker that is", forgetOffer],
    ])("fetches the answer after its restart and settles the job%s", async (_, before) => {
      await world.isListed(HEALTHY);
      await world.isListed(SLOW);
      const response = await world.api.request(
        "POST",
        "/v1/chat/completions",
        chat(SLOW, "Write. [[tokens:40]]", { stream: true }),
      );
      const jobId = response.headers.get("x-service-job-id") as string;
      const reading = response.text().catch(() => "cut");
      await world.stack.kill("api");
      await reading;
      await before(world, jobId);
      await world.stack.restart("api");
      const job = await eventually(
        () => world.api.get(`/v1/jobs/${jobId}`),
        ({ body }) => body.status === "settled" || body.status === "refunded" || body.status === "failed",
      );
      expect(job.body).toMatchObject({ status: "settled", credits_charged: 8 });
      expect((await world.account()).escrowed).toBe(0);
    });
  });
}

/** The job as a database that was restored from an older backup knows it: not at all. */
async function loseJob({ stack }: World, jobId: string): Promise<void> {
  const client = new pg.Client(stack.info.database_url);
  await client.connect();
  await client.query("DELETE FROM gateway.job WHERE job_id = $1", [jobId]);
  await client.end();
}

/** The job's row as it is between the mined lock and the note of the offer. */
async function forgetOffer({ stack }: World, jobId: string): Promise<void> {
  const client = new pg.Client(stack.info.database_url);
  await client.connect();
  await client.query(
    `UPDATE gateway.job SET state = 'locking', worker = NULL, worker_endpoint = NULL, acknowledge_by = NULL, attempt = 0,
            escrow_tx = NULL, locked_at = NULL WHERE job_id = $1`,
    [jobId],
  );
  await client.end();
}

async function giveGas({ chain, stack }: World, to: Address): Promise<void> {
  const [funder] = (await chain.client.request({ method: "eth_accounts" as never })) as Address[];
  const wallet = createWalletClient({ transport: http(stack.info.rpc_url), account: funder as Address });
  const hash = await wallet.sendTransaction({ to, value: parseEther("1"), chain: null });
  await mined(chain.client, hash);
}
