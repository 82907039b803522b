import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { keccak256, toBytes } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { people, workerKey } from "../support/protocol.ts";
import { KEYS, type World } from "./world.ts";

/** Workers of the operator's own. */
export function pool(world: World): void {
  describe("the worker pool", () => {
    it("is listed with stake and health, and registered from a file", async () => {
      const privateKey = keccak256(toBytes("a new worker of the operator"));
      const { address } = privateKeyToAccount(privateKey);
      const file = join(world.p.chain.folder, "pool.json");
      writeFileSync(file, JSON.stringify([{ privateKey, endpoint: "http://127.0.0.1:9", models: ["qwen3-14b"] }]));
      const command = `workers register --workers-file ${file}`;
      expect(await world.json(command, KEYS.holder)).toEqual({ sent: false, workers: [address] });
      expect(await world.json("workers list")).toHaveLength(2);
      expect(await world.json(`${command} --yes`, KEYS.holder)).toMatchObject({ sent: true, workers: [address] });
      expect(await world.json("workers list")).toMatchObject([
        { id: 1, address: workerKey.address },
        { id: 2 },
        {
          id: 3,
          address,
          state: "active",
          stake_svc: 2_000,
          health: "unreachable",
          models: [4],
          owner: people.svcHolder.address,
        },
      ]);
    });
  });
}
