/** `npm run compile`: compiles the contracts and generates protocol/generated/abi.ts, shown on this terminal. */
import { spawnSync } from "node:child_process";
import { compile } from "./compile.ts";
import { messageOf } from "./errors.ts";
import { ROOT } from "./files.ts";

try {
  await compile(
    async (args) => {
      const { status } = spawnSync(
        process.execPath,
        [...args, ...(args.includes("compile") ? process.argv.slice(2) : [])],
        {
          cwd: ROOT,
          stdio: ["ignore", "inherit", "inherit"],
        },
      );
      if (status !== 0) throw new Error(`${args.join(" ")} failed.`);
    },
    { force: true },
  );
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
