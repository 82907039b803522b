import { createServer, type Server } from "node:net";
import { describe, expect, it } from "vitest";
import type { DeliveryObject } from "../../../api/webhooks/index.ts";
import { freePort } from "../../../scripts/local-stack/ports.ts";
import { eventually } from "../../support/api-client.ts";
import { answer } from "../../support/receiver.ts";
import type { World } from "./world.ts";

/** Receivers that are down, slow, redirecting, talkative. */
export function receivers(world: World): void {
  describe("an attempt that failed", () => {
    it("is told of in the log as it was", async () => {
      const refusing = await freePort();
      const resetting = await resettingServer();
      const cases: [path: string, url: string, status: number | null, error: string | null][] = [
        ["down", `http://127.0.0.1:${refusing}/`, null, "the connection was refused"],
        ["resetting", `http://127.0.0.1:${resetting.port}/`, null, "the connection was closed before an answer"],
        [
          "redirecting",
          world.receiver.url(
            "/redirecting",
            (response) => void response.writeHead(302, { location: world.receiver.url("/target") }).end(),
          ),
          302,
          "answered 302: redirects are not followed",
        ],
        [
          "unknown",
          "http://does-not-exist.example/hook",
          null,
          expect.stringContaining("could not be resolved") as never,
        ],
        ["long", world.receiver.url("/long", answer(400, "x".repeat(100_000))), 400, "answered 400"],
        ["nul", world.receiver.url("/nul", answer(400, "a\0b")), 400, "answered 400"],
      ];
      const webhooks = await Promise.all(cases.map(([, url]) => world.client.webhook(url, ["credit.topup"])));
      await world.client.deposit(100);
      for (const [index, webhook] of webhooks.entries()) {
        const [name, , status, error] = cases[index] as (typeof cases)[number];
        const delivery = await world.only(
          webhook,
          ({ next_attempt_at, attempts }) => attempts === 1 && next_attempt_at !== null,
        );
        const { attempt_log } = await world.detail(delivery);
        expect([name, attempt_log[0]]).toEqual([
          name,
          {
            number: 1,
            started_at: expect.any(String),
            duration_ms: expect.any(Number),
            status,
            response: attempt_log[0]?.response,
            error,
          },
        ]);
        if (name === "long") expect(attempt_log[0]?.response).toBe("x".repeat(1_024));
        if (name === "nul") expect(attempt_log[0]?.response).toBe("a\ufffdb");
        await world.client.api.request("DELETE", `/v1/webhooks/${webhook.id}`);
      }
      expect(world.receiver.to("/target")).toEqual([]);
      resetting.server.close();
    });
  });

  describe("a slow receiver", () => {
    it("has ten seconds, and delays nobody else", async () => {
      const slow = await world.client.webhook(
        world.receiver.url(
          "/slow",
          // The first attempt of each event gets no answer at all.
          (response, nth) => void (nth > 30 && response.end("at last")),
        ),
        ["credit.topup"],
      );
      const quick = await world.client.webhook(world.receiver.url("/quick"), ["credit.topup"]);
      for (let i = 0; i < 30; i += 1) await world.client.deposit(100);
      await eventually(
        () => world.log(quick, { limit: 100 }),
        (all) => all.length === 30 && all.every(({ status }) => status === "delivered"),
      );
      // Some of the quick one's arrive while an answer of the slow one is waited for.
      const waits = world.receiver.to("/slow").map(({ at }) => at);
      const between = world.receiver
        .to("/quick")
        .filter(({ at }) => waits.some((from) => from < at && at < from + 10_000));
      expect(between.length).toBeGreaterThan(0);
      const [delivery] = await eventually(
        () => world.log(slow, { limit: 100 }),
        (all) => all.some(({ last_error }) => last_error !== null),
      ).then((all) => all.filter(({ last_error }) => last_error !== null));
      const { attempt_log } = await world.detail(delivery as DeliveryObject);
      expect(attempt_log[0]).toMatchObject({
        number: 1,
        status: null,
        response: null,
        error: "no answer within 10 seconds",
      });
      await world.client.api.request("DELETE", `/v1/webhooks/${slow.id}`);
    });
  });
}

/** Resets each connection as soon as it has something. */
async function resettingServer(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.resetAndDestroy());
  });
  return { server, port: await listen(server) };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as { port: number }).port;
}
