import { setTimeout as sleep } from "node:timers/promises";
import { checkout, type Drill } from "./drill.ts";

/** docs/operations/upkeep.md, "Upgrade without an interruption". */
export const exchange: Drill = {
  name: "exchange",
  does: "downgrades both gateways by one version, and upgrades them again, one at a time",
  practise: async (practice) => {
    const { gateways, options } = practice;
    const { root, remove } = checkout(options.before);
    practice.ends.push(remove);
    await practice.step("both of this version", () => sleep(5_000));
    for (const [n, gateway] of gateways.entries())
      await practice.step(`gateway ${n + 1}: to ${options.before}`, () => practice.exchange(gateway, { root }));
    await practice.step(`both of ${options.before}`, () => sleep(10_000));
    for (const [n, gateway] of gateways.entries()) {
      await practice.step(`gateway ${n + 1}: to this version`, () => practice.exchange(gateway));
      await practice.step("as it is", () => sleep(3_000));
    }
  },
};
