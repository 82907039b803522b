import { afterAll, expect, it } from "vitest";
import { getSpendAlerts, setSpendAlerts } from "../../../web/server/spending.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());

it("keeps the spend alert that a change does not name, also of two changes at once", async () => {
  for (const digit of "0123456789") {
    const wallet = `0x${digit.repeat(40)}` as const;
    await Promise.all([
      setSpendAlerts(pool, wallet, { spend_alert_day: 5 }),
      setSpendAlerts(pool, wallet, { spend_alert_month: 70 }),
    ]);
    expect(await getSpendAlerts(pool, wallet)).toEqual({ spend_alert_day: 5, spend_alert_month: 70 });
  }
});

it("ends a spend alert with null, and keeps the other one", async () => {
  const wallet = `0x${"a".repeat(40)}` as const;
  await setSpendAlerts(pool, wallet, { spend_alert_day: 5, spend_alert_month: 70 });
  await setSpendAlerts(pool, wallet, { spend_alert_day: null });
  expect(await getSpendAlerts(pool, wallet)).toEqual({ spend_alert_day: null, spend_alert_month: 70 });
});
