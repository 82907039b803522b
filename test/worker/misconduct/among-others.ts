import { describe, expect, it } from "vitest";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { event, type PlayedWorker, type Script } from "../support/played-worker.ts";
import { EVIL, SHARED, TEXT, type World } from "./world.ts";

/** Workers whose model others host too: the client has its answer all the same. */
export function amongOthers(world: World): void {
  describe("a worker among others", () => {
    /** A worker with failures behind it is asked only when the others have several times its load. */
    const MANY = 48;
    const atOnce = () => Promise.all(Array.from({ length: MANY }, () => world.ask(SHARED)));

    it("that says it is full keeps its place, and the others answer", { timeout: 60_000 }, async () => {
      await world.evil.isOffered(SHARED, 2);
      const before = await world.counted("busy");
      world.evil.play(
        (_offer, response) => {
          response.writeHead(503, { "content-type": "application/json" });
          response.end(JSON.stringify({ error: { code: "busy", message: "try elsewhere" } }));
        },
        { raw: true },
      );
      expect((await atOnce()).map(({ status }) => status)).toEqual(Array(MANY).fill(200));
      expect(await world.counted("busy")).toBeGreaterThan(before);
      // Nothing went wrong: it is still listed.
      await world.evil.isOffered(SHARED, 2);
    });

    it.each<[string, Script]>([
      [
        "says nothing holds a request no longer than its offer",
        (_offer, response) => {
          const timer = setInterval(() => response.write(": still here\n\n"), 200);
          response.on("close", () => clearInterval(timer));
        },
      ],
      [
        "acknowledges and then says nothing is replaced as well",
        async (offer, response) => void response.write(await world.evil.acknowledgement(offer)),
      ],
    ])("that %s: the next worker answers", { timeout: 60_000 }, async (_, script) => {
      await world.evil.isOffered(SHARED, 2);
      world.evil.play(script);
      const replies = await atOnce();
      expect(world.evil.offers.length).toBeGreaterThan(0);
      expect(replies.map(({ status }) => status)).toEqual(Array(MANY).fill(200));
      expect(new Set(replies.map(({ headers }) => headers.get("x-service-worker")))).not.toContain(world.evil.address);
    });

    it("whose acknowledgement is not its own is named, and its answer counts", { timeout: 60_000 }, async () => {
      await world.incident("bad_acknowledgement", async () => {
        world.evil.play(async (offer, response) => {
          response.write(event("acknowledged", { signature: `0x${"11".repeat(65)}` }));
          response.write(event("delta", { content: TEXT }));
          await new Promise((resolve) => setTimeout(resolve, 600));
          response.end(event("completed", await world.evil.completion(offer, TEXT)));
        });
        const reply = await world.ask(EVIL);
        expect(reply.status).toBe(200);
        return toApiJobId((world.evil.offers[0] as PlayedWorker["offers"][number]).assignment.jobId);
      });
    });
  });
}
