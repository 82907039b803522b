import { verifyTypedData } from "viem";
import { describe, expect, it } from "vitest";
import type { SignedStatement } from "../../../api/routes/completion-shapes.ts";
import { fromApiJobId } from "../../../protocol/job-id.ts";
import { compactSignature, escrowDomain, jobMessageTypes } from "../../../protocol/messages.ts";
import { decodeUsageWord } from "../../../protocol/words.ts";
import { jobIdOf, sha256, type World } from "./world.ts";

/** The worker's signed statement that comes with an answer. */
export function statement(world: World): void {
  describe("the worker's own signature", () => {
    /** What a client does with it: chain id and escrow are the client's own trust anchors, the text is what it received. */
    const verify = async (service: SignedStatement, jobId: string, text: string) => {
      expect(service.completion).toMatchObject({
        jobId: fromApiJobId(jobId),
        proofHash: sha256(text).replace("sha256:", "0x"),
      });
      const statement = {
        address: service.worker_address,
        domain: escrowDomain(world.stack.info.chain_id, world.chain.escrow),
        types: { Completion: jobMessageTypes.Completion },
        primaryType: "Completion",
        signature: service.signature,
      } as const;
      const altered = { ...service.completion, completionTokens: service.completion.completionTokens + 1 };
      return [
        await verifyTypedData({ ...statement, message: service.completion }),
        await verifyTypedData({ ...statement, message: altered }),
      ];
    };

    it("comes with a plain reply and its replay, and is what the chain verified", async () => {
      const headers = { "idempotency-key": `statement-${Date.now()}` };
      const ask = () =>
        world.openai.chat.completions
          .create({ model: "qwen3-8b", messages: [{ role: "user", content: "Sign this." }] }, { headers })
          .withResponse();
      const { data, response } = await ask();
      const { service } = data as unknown as { service: SignedStatement };
      expect(service.worker_address).toBe(response.headers.get("x-service-worker"));
      const text = data.choices[0]?.message.content ?? "";
      expect(await verify(service, jobIdOf(data.id), text)).toEqual([true, false]);
      const job = await world.settled(jobIdOf(data.id));
      const { events } = await world.chain.transaction(job.on_chain.settlement_tx, job.id);
      const settled = events.find((event) => event.eventName === "JobSettled")?.args as { usage: bigint };
      const { r, vs } = compactSignature(service.signature);
      expect(settled).toMatchObject({ proofHash: service.completion.proofHash, r, vs });
      const { promptTokens, completionTokens, completedAt } = service.completion;
      expect(decodeUsageWord(settled.usage)).toMatchObject({ promptTokens, completionTokens, completedAt });
      expect((await ask()).data).toEqual(data);
      expect((await world.api.get(`/v1/jobs/${job.id}/output`)).body.service).toEqual(service);
    });

    it("comes with the last choice of a stream, and stock SDKs do not mind", async () => {
      const stream = await world.openai.chat.completions.create({
        model: "qwen3-8b",
        messages: [{ role: "user", content: "Sign this stream." }],
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = "";
      let id = "";
      const statements: SignedStatement[] = [];
      for await (const chunk of stream) {
        id = chunk.id;
        text += chunk.choices[0]?.delta.content ?? "";
        const { service } = chunk as unknown as { service?: SignedStatement };
        if (service === undefined) continue;
        expect(chunk.choices[0]?.finish_reason).toBe("stop");
        statements.push(service);
      }
      expect(statements).toHaveLength(1);
      expect(await verify(statements[0] as SignedStatement, jobIdOf(id), text)).toEqual([true, false]);
    });
  });
}
