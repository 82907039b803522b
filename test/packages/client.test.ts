/** `client/` as a stranger gets it: what it exports, its command, and the types that its README shows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Installed, install } from "./support/install.ts";

let client: Installed;
beforeAll(async () => {
  client = await install("client");
});
afterAll(() => client?.remove());

describe("the package client, installed in an empty folder", () => {
  it("exports a fetch that passes on what is no chat request", async () => {
    const printed = await client.run(`
      import { verified } from "${client.name}";
      const sent = [];
      const fetch = verified({
        rpcUrl: "http://127.0.0.1:9",
        escrow: "0x610178dA211FEF7D417bC0e6FeD39F05609AD788",
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

  it("has the types that its README shows", async () => {
    const said = await client.check(`
      import { type Finding, type JobReport, verified } from "${client.name}";
      const fetch: typeof globalThis.fetch = verified({
        rpcUrl: "http://127.0.0.1:9",
        escrow: "0x610178dA211FEF7D417bC0e6FeD39F05609AD788",
        onFinding: ({ kind, says }: Finding) => console.error(kind, says),
        onJob: ({ creditsCharged }: JobReport) => console.log(creditsCharged),
      });
      // @ts-expect-error a node must be named
      verified({ escrow: "0x610178dA211FEF7D417bC0e6FeD39F05609AD788" });
      export { fetch };
    `);
    expect(said).toBe("");
  });
});
