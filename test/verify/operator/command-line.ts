import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runOperator } from "../../../scripts/operator/run.ts";
import { run } from "../support/cli.ts";
import { KEYS, type World } from "./world.ts";

/** What is wrong with a command, before anything is sent. */
export function commandLine(world: World): void {
  describe("the command line", () => {
    it("explains itself, and says what is wrong with status 2", async () => {
      const help = await run("scripts/operator.ts", ["--help"]);
      expect(help).toMatchObject({ code: 0, output: expect.stringContaining("disputes vote <job id>") });
      const wrong = await run("scripts/operator.ts", ["models", "drop", "qwen3-8b"], world.p.chain.env);
      expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining('there is no command "models drop"') });
    });

    it("refuses missing, superfluous and malformed arguments", async () => {
      await expect(world.operator("operators stop")).rejects.toThrow(
        "usage: npm run operator -- operators stop <operator>",
      );
      await expect(world.operator("disputes reject")).rejects.toThrow("usage: npm run operator -- disputes reject");
      await expect(world.operator("models list --tier max")).rejects.toThrow("usage: npm run operator -- models list");
      await expect(world.operator("operators propose-admit 0x12", KEYS.holder)).rejects.toThrow(
        '"0x12" is not an address',
      );
      await expect(world.operator("operators stop 0", KEYS.guardian)).rejects.toThrow(
        "<operator> 0 must be a whole number from 1 to 160",
      );
      await expect(
        world.operator("models propose-prices qwen3-8b --per-request 0 --per-1k 4", KEYS.holder),
      ).rejects.toThrow("--per-request 0 must be a whole number from 1 to 65535");
      await expect(world.operator("models propose-prices gpt --per-request 1 --per-1k 4", KEYS.holder)).rejects.toThrow(
        "the catalog has no gpt; it has llama",
      );
      await expect(world.operator("models propose-retire qwen3-8b --at tomorrow", KEYS.holder)).rejects.toThrow(
        "with its zone",
      );
      await expect(world.operator("disputes expire job_1", KEYS.holder)).rejects.toThrow("is not a job id");
      await expect(world.operator("protocol pause")).rejects.toThrow("set OPERATOR_PRIVATE_KEY");
    });

    it("refuses a node of another chain than the deployment's", async () => {
      const other = { ...world.p.chain.deployment, startBlockHash: `0x${"11".repeat(32)}` };
      const file = join(world.p.chain.folder, "other.json");
      writeFileSync(file, JSON.stringify(other));
      const env = { RPC_URL: world.p.chain.rpcUrl, DEPLOYMENT_FILE: file };
      await expect(runOperator(["models", "list"], env)).rejects.toThrow(/another chain of the id 31337/);
    });
  });
}
