/** Builds the web application into `web/dist`, where the API serves it from, unless it is built from the present sources. */
import { spawnSync } from "node:child_process";
import { messageOf, ROOT } from "../dev/files.ts";
import { buildWeb } from "../dev/web.ts";

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
