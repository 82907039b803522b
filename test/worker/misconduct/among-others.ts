import { describe, expect, it } from "vitest";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { eventually } from "../../support/api-client.ts";
import { event, type PlayedWorker, type Script } from "../support/played-worker.ts";
import { EVIL, SHARED, TEXT, type World } from "./world.ts";

/** Workers whose model others host too: the client has its answer all the same. */
export function amongOthers(world: World): void {
  describe("a worker among others", { timeout: 240_000 }, () => {
    /** A worker with failures behind it is asked only when the others have several times its load. */
    const MANY = 48;
    const ROUNDS = 6;

    /** Sends so many requests at once, and again until the evil worker was asked: which worker is, is chance. All replies. */
    const untilAsked = async () => {
      const replies: Awaited<ReturnType<World["ask"]>>[] = [];
      for (let round = 0; round < ROUNDS && world.evil.offers.length === 0; round++) {
        await world.evil.isOffered(SHARED, 2);
        replies.push(...(await Promise.all(Array.from({ length: MANY }, () => world.ask(SHARED)))));
      }
      expect(world.evil.offers.length).toBeGreaterThan(0);
      return replies;
    };
    const statuses = (replies: { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

    it("that says it is full keeps its place, and the others answer", async () => {
      await world.evil.isOffered(SHARED, 2);
      const before = await world.counted("busy");
      world.evil.play(
        (_offer, response) => {
          response.writeHead(503, { "content-type": "application/json" });
          response.end(JSON.stringify({ error: { code: "busy", message: "try elsewhere" } }));
        },
        { raw: true },
      );
      expect(statuses(await untilAsked())).toEqual([200]);
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
    ])("that %s: the next worker answers", async (_, script) => {
      world.evil.play(script);
      const replies = await untilAsked();
      expect(statuses(replies)).toEqual([200]);
      expect(new Set(replies.map(({ headers }) => headers.get("x-service-worker")))).not.toContain(world.evil.address);
    });

    it("whose acknowledgement is not its own is named, and its answer counts", async () => {
      await world.incident("bad_acknowledgement", async () => {
        const before = await world.counted("bad_acknowledgement");
        world.evil.play(async (offer, response) => {
          response.write(event("acknowledged", { signature: `0x${"11".repeat(65)}` }));
          response.write(event("delta", { content: TEXT }));
          // A job that is over needs no acknowledgement any more: the gateway looks at it while the job runs.
          await eventually(
            () => world.counted("bad_acknowledgement"),
            (count) => count > before,
            15_000,
          );
          response.end(event("completed", await world.evil.completion(offer, TEXT)));
        });
        const reply = await world.ask(EVIL);
        expect(reply.status).toBe(200);
        return toApiJobId((world.evil.offers[0] as PlayedWorker["offers"][number]).assignment.jobId);
      });
    });
  });
}
