/** `client/` as a stranger gets it: what it exports, and its command. */
import { spawn } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/api-client.ts";
import { plainEnv } from "../support/shared.ts";
import { type Installed, install } from "./support/install.ts";

let client: Installed;
beforeAll(async () => {
  client = await install("client");
});

describe("the package client, installed in an empty folder", () => {
  it("exports a fetch that passes on what is no chat request", async () => {
    const printed = await client.run(`
      import { verified } from "${client.name}";
      const sent = [];
      const fetch = verified({
        rpcUrl: "http://127.0.0.1:9",
        escrow: "0xB7f8BC63BbcaD18155201308C8f3540b07f84F5e",
        fetch: async (input) => (sent.push(String(input)), new Response("models")),
      });
      console.log(await (await fetch("http://127.0.0.1:9/v1/models")).text(), sent.join());
    `);
    expect(printed).toBe("models http://127.0.0.1:9/v1/models");
  });

  it("has a command that says how it is used, and ends with 2 where it is not", async () => {
    expect(await client.command("--help")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^cmi-client proxy[\s\S]*cmi-client authorize/),
    });
    expect(await client.command("sing")).toMatchObject({ code: 2, stderr: expect.stringMatching(/^cmi-client: name/) });
  });

  it("has the same command under Node 20", async () => {
    expect(await client.commandUnderNode20("--help")).toEqual(await client.command("--help"));
    expect(await client.commandUnderNode20("sing")).toMatchObject({ code: 2 });
  });

  it("says under an older Node that it needs a newer one", async () => {
    const printed = await client.run(`
      Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } });
      console.error = console.log;
      process.exit = (code) => { throw new Error("exit status " + code); };
      for (const file of ["${client.name}", "./node_modules/.bin/cmi-client"])
        await import(file).catch((error) => console.log(error.message));
    `);
    expect(printed.split("\n")).toEqual([
      expect.stringContaining(`${client.name} needs Node 20 or newer`),
      expect.stringContaining("cmi-client needs Node 20 or newer"),
      "exit status 2",
    ]);
  });

  it("ends with the shell of npx, which passes no signal on", async () => {
    const place = "--rpc http://127.0.0.1:9 --escrow 0xB7f8BC63BbcaD18155201308C8f3540b07f84F5e";
    const line = `node_modules/.bin/cmi-client proxy --port 0 --base-url http://127.0.0.1:9/v1 ${place}; true`;
    const shell = spawn("sh", ["-c", line], { cwd: client.folder, env: { ...plainEnv(), npm_command: "exec" } });
    let said = "";
    for await (const data of shell.stdout) {
      said += data;
      if (/Listening on \S+\n/.test(said)) break;
    }
    shell.kill("SIGTERM");
    const url = /Listening on (\S+)/.exec(said)?.[1] as string;
    const answers = () =>
      fetch(`${url}/models`).then(
        (reply) => reply.status,
        () => "gone",
      );
    await eventually(answers, (answer) => answer === "gone");
  });
});
