import { createServer, type Server } from "node:http";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Dispatch } from "../../../protocol/dispatch.ts";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../../protocol/job-id.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { compactSignature, escrowDomain, jobMessageTypes } from "../../../protocol/messages.ts";
import { type ApiClient, chat, eventually } from "../../support/api-client.ts";
import { SHARED, type World } from "./world.ts";

/** Workers whose job goes to another one. */
export function replacedWorkers(world: World): void {
  describe("a worker that fails before its first token", () => {
    let offers: Dispatch[] = [];
    let server: Server;

    beforeAll(async () => {
      // The test plays the fourth worker: alive for the probe, dead for every job.
      const { port, privateKey } = world.stack.workers[3] as (typeof world.stack.workers)[number];
      const worker = privateKeyToAccount(privateKey).address;
      server = createServer((request, response) => {
        if (request.url === "/healthz") return void response.end(JSON.stringify({ status: "ok", worker }));
        let body = "";
        request.on("data", (data) => {
          body += data;
        });
        request.on("end", () => {
          offers.push(JSON.parse(body));
          request.socket.destroy();
        });
      });
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    });
    afterAll(() => server?.close());

    it("is replaced by another one, and its old assignment captures nothing", async () => {
      const model = () => world.api.get(`/v1/models/${SHARED}`);
      let reply: Awaited<ReturnType<ApiClient["post"]>>;
      do {
        await eventually(model, ({ body }) => body.service?.active_workers === 2);
        reply = await world.api.post("/v1/chat/completions", chat(SHARED, "Hello"));
        // Whoever is chosen first, the client gets its answer.
        expect(reply.status).toBe(200);
      } while (offers.length === 0);
      const [offer] = offers as [Dispatch];
      expect(reply.headers.get("x-service-worker")).toBe(
        privateKeyToAccount(world.stack.workers[0]?.privateKey as Hex).address,
      );
      const jobId = reply.headers.get("x-service-job-id") as string;
      expect(offer.assignment.jobId).toBe(fromApiJobId(jobId));

      const dead = privateKeyToAccount(world.stack.workers[3]?.privateKey as Hex);
      const byWorker = await dead.signTypedData({
        domain: escrowDomain(world.stack.info.chain_id, world.chain.escrow),
        types: jobMessageTypes,
        primaryType: "Acknowledgement",
        message: { jobId: offer.assignment.jobId, attempt: offer.assignment.attempt },
      });
      const settled = await eventually(
        () => world.chain.job(jobId),
        (job) => job.status === ChainStatus.Settled,
      );
      expect(settled.attempt).toBe(2);
      const acknowledge = world.chain.client.simulateContract({
        address: world.chain.escrow,
        abi: inferenceEscrowAbi,
        functionName: "acknowledge",
        args: [offer.assignment, compactSignature(offer.signature), compactSignature(byWorker)],
      });
      await expect(acknowledge).rejects.toThrow(/Job_WrongState/);
      offers = [];
    });
  });
}
