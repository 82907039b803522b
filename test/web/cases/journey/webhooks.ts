import { expect, it } from "vitest";
import { chainReader } from "../../../support/chain-reader.ts";
import { openStore } from "../../../support/client.ts";
import { type Person, PRICE } from "./person.ts";

/** Webhooks that fail, are repaired and replayed; the low-credit warning. */
export function webhookSteps(person: Person): void {
  it("creates a webhook, sees a failed delivery and replays it", async () => {
    const { visitor } = person;
    person.receiver.behave("/hook", (response, nth) =>
      response.writeHead(nth === 1 ? 500 : 200).end(nth === 1 ? "not now" : "thanks"),
    );
    await visitor.go("/webhooks");
    await visitor.press("New webhook");
    await visitor.page.getByLabel("Endpoint").fill(person.receiver.url("/hook"));
    await visitor.press("Create webhook");
    await visitor.sees("Signing secret");
    await person.complete(person.apiKey);
    await visitor.page.getByRole("link", { name: person.receiver.url("/hook") }).click();
    await visitor.sees(/status 500|500/);
    await visitor.press("Details");
    await visitor.sees(/not now/);
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("Replay");
    await visitor.page.locator(".badge", { hasText: "delivered" }).waitFor();
    const [first, second] = person.receiver.to("/hook");
    expect(second?.event).toMatchObject({ event: "job.completed", id: first?.event.id });
  });

  it("enables a webhook again that failed five times, and replays all it missed", async () => {
    const { visitor } = person;
    person.receiver.behave("/broken", (response) => void response.writeHead(503).end());
    await visitor.go("/webhooks");
    await visitor.press("New webhook");
    await visitor.page.getByLabel("Endpoint").fill(person.receiver.url("/broken"));
    await visitor.press("Create webhook");
    await visitor.sees("Signing secret");
    await person.complete(person.apiKey);
    const database = openStore(person.stack);
    // The time to the next attempt passes as soon as the one before is on record.
    const pass = () =>
      database.query(
        `UPDATE webhook_delivery SET next_attempt_at = now() WHERE status = 'pending' AND NOT running
         AND webhook_id = (SELECT id FROM webhook WHERE url = $1)`,
        [person.receiver.url("/broken")],
      );
    const attempts = async () => {
      await pass();
      return person.receiver.to("/broken").length;
    };
    await expect.poll(attempts, { timeout: 60_000 }).toBe(5);
    await database.end();
    await visitor.page.getByRole("link", { name: person.receiver.url("/broken") }).click();
    await visitor.sees("Five deliveries in a row failed");
    expect(await visitor.page.getByRole("button", { name: "Replay all that failed" }).isDisabled()).toBe(true);
    person.receiver.behave("/broken", (response) => void response.end());
    await visitor.press("Enable again");
    await visitor.page.getByText("Five deliveries in a row failed").waitFor({ state: "detached" });
    await visitor.press("Replay all that failed");
    await visitor.sees("1 delivery is sent again.");
    await visitor.page.locator(".badge", { hasText: "delivered" }).waitFor();
    expect(new Set(person.receiver.to("/broken").map(({ event }) => event.id)).size).toBe(1);
    expect(person.receiver.to("/broken")).toHaveLength(6);
  });

  it("lowers the threshold and hears of low credits", async () => {
    const { visitor } = person;
    // The jobs before have given back what they did not use.
    const account = () => chainReader(person.stack).account(person.account.address);
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({ escrowed: 0 });
    const { free } = await account();
    await visitor.go("/settings");
    await visitor.page.getByLabel("Warn below").fill(String(free - 1));
    await visitor.press("Save");
    await visitor.sees("Saved.");
    await person.complete(person.apiKey);
    await expect
      .poll(() => person.receiver.to("/hook").find(({ event }) => event.event === "credit.low")?.event.data, {
        timeout: 60_000,
      })
      .toEqual({ credits_remaining: free - PRICE, usdg_value: (free - PRICE) / 100, threshold: free - 1 });
  });
}
