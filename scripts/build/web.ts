/** Builds the web application into `web/dist`, where the API serves it from, unless it is built from the present sources. */
import { spawnSync } from "node:child_process";
import { messageOf } from "../local-stack/errors.ts";
import { ROOT } from "../local-stack/files.ts";
import { buildWeb } from "../local-stack/web.ts";

try {
  console.log(
    await buildWeb(async (args) => {
      const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
      if (status !== 0) throw new Error("The web application could not be built; see the message above.");
    }),
  );
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
