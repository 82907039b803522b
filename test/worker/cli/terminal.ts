import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workerCli } from "../support/cli.ts";
import { freePort, ROOT, until } from "../support/processes.ts";
import { PASSPHRASE, type World } from "./world.ts";

/** A first start with a person at the keyboard. */
export function terminal(world: World): void {
  describe.runIf(process.platform === "linux")("at a terminal", { timeout: 120_000 }, () => {
    it("the first start asks for a passphrase twice and for consent, and shows no passphrase", async () => {
      const at = await freePort();
      const command = `${process.execPath} worker/main.ts --backend ${world.peer.url} --models qwen3-14b --port ${at}`;
      const env = {
        PATH: process.env.PATH ?? "",
        ...world.chain.env,
        WORKER_DATA_DIR: join(world.chain.folder, "asked"),
      };
      // util-linux gives the program a terminal.
      const terminal = spawn("script", ["-qefc", command, "/dev/null"], { cwd: ROOT, env, stdio: "pipe" });
      // It may end between two answers: the next question that does not come says so.
      terminal.stdin.on("error", () => {});
      let seen = "";
      terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
        seen += text;
      });
      const answer = async (question: RegExp, text: string) => {
        await until(String(question), async () => question.test(seen));
        terminal.stdin.write(`${text}\r`);
      };
      try {
        await answer(/Choose a passphrase/, PASSPHRASE);
        await answer(/Once more/, PASSPHRASE);
        await answer(/register 0x\S+ at http:\/\/127[\s\S]*Send that\?/, "y");
        await world.serves(at);
        expect(seen).not.toContain(PASSPHRASE);
        expect(await world.status("asked")).toMatchObject({ active: true, models: ["qwen3-14b"] });
      } finally {
        await workerCli(world.chain, "asked", ["drain"]);
        if (terminal.exitCode === null) {
          terminal.kill("SIGKILL");
          await once(terminal, "close");
        }
      }
    });
  });
}
