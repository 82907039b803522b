import { describe, expect, it } from "vitest";
import { listWorkerIncidents } from "../../../api/store/incidents.ts";
import { event, type Script } from "../support/played-worker.ts";
import { TEXT, type World } from "./world.ts";

/** Streams that do not end, or are none. */
export function streams(world: World): void {
  describe("a stream is cut, and its worker named, when it", { timeout: 120_000 }, () => {
    /** Sends `piece` for as long as it is taken, at most a gigabyte; tells how much that was. */
    const endless = (piece: string) => {
      const sent = { bytes: 0 };
      const script: Script = async (offer, response) => {
        response.write(await world.evil.acknowledgement(offer));
        const more = (): void => {
          while (!response.destroyed && sent.bytes < 2 ** 30) {
            sent.bytes += piece.length;
            if (!response.write(piece)) return void response.once("drain", more);
          }
          response.end();
        };
        more();
      };
      return { sent, script };
    };

    it.each([
      ["deltas", event("delta", { content: "Another word. ".repeat(1_000) })],
      ["comments", `: ${"x".repeat(16_000)}\n\n`],
      ["a line without end", "x".repeat(65_536)],
    ])("is a gigabyte of %s", async (_, piece) => {
      const { sent, script } = endless(piece);
      await world.incident("oversized", async () => {
        world.evil.play(script);
        const jobId = await world.spoiled();
        expect(sent.bytes).toBeLessThan(2 ** 28);
        return jobId;
      });
    });

    it("never finishes", async () => {
      await world.incident("never_finished", async () => {
        world.evil.play(async (offer, response) => {
          response.write(await world.evil.acknowledgement(offer));
          response.write(event("delta", { content: "Once upon a time" }));
          const timer = setInterval(() => response.write(event("delta", { content: " and then" })), 300);
          response.on("close", () => clearInterval(timer));
        });
        return world.spoiled(504);
      });
    });

    it("comes a byte at a time", async () => {
      await world.incident("silent", async () => {
        world.evil.play(async (offer, response) => {
          const bytes = await world.evil.acknowledgement(offer);
          let at = 0;
          const timer = setInterval(() => response.write(bytes[at++ % bytes.length]), 100);
          response.on("close", () => clearInterval(timer));
        });
        return world.spoiled();
      });
    });

    it.each([
      ["holds what is not JSON", "event: delta\ndata: {content\n\n"],
      ["holds an empty delta", event("delta", { content: "" })],
      ["holds an event of its own invention", event("invoice", { credits: 1_000 })],
      ["completes with numbers that no message can hold", event("completed", { completion: { completedAt: 2 ** 45 } })],
    ])("%s", async (_, piece) => {
      await world.incident("malformed", async () => {
        world.evil.play(async (offer, response) => {
          response.write(await world.evil.acknowledgement(offer));
          response.end(event("delta", { content: TEXT }) + piece);
        });
        return world.spoiled();
      });
    });

    it("gives a reason that no gateway knows: it does not become a label of its own", async () => {
      await world.incident("other", async () => {
        world.evil.play(
          (_offer, response) => void response.end(event("error", { code: `x${Date.now()}`, message: "a\nb" })),
        );
        return world.spoiled();
      });
      const shown = await listWorkerIncidents(world.database, [world.evil.address], 50);
      expect(shown).toContainEqual(expect.objectContaining({ code: "other", detail: "a b", severity: "failure" }));
      expect(shown.map(({ code }) => code)).not.toContainEqual(expect.stringMatching(/^x\d/));
    });
  });
}
