/** The types of the packages, in the strict project of a stranger. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, expect, it } from "vitest";
import { ROOT } from "../support/processes.ts";
import { type Installed, install, installOnce } from "./support/install.ts";

/** A program of a package's user, and what it may not write. */
const PROGRAMS: Record<string, (name: string) => string> = {
  client: (name) => `
    import { type Finding, type JobReport, verified } from "${name}";
    const fetch: typeof globalThis.fetch = verified({
      rpcUrl: "http://127.0.0.1:9",
      escrow: "0xB7f8BC63BbcaD18155201308C8f3540b07f84F5e",
      onFinding: ({ kind, says }: Finding) => console.error(kind, says),
      onJob: ({ creditsCharged }: JobReport) => console.log(creditsCharged),
    });
    // @ts-expect-error a node must be named
    verified({ escrow: "0xB7f8BC63BbcaD18155201308C8f3540b07f84F5e" });
    export { fetch };
  `,
  contracts: (name) => `
    import { addresses, authorizationTypes, type Contracts, escrowDomain, inferenceEscrowAbi } from "${name}";
    import { inferenceEscrowBytecode } from "${name}/bytecode";
    import { createPublicClient, encodeDeployData, hashTypedData, http, parseEventLogs } from "viem";
    const client = createPublicClient({ transport: http() });
    const address = addresses[31337].InferenceEscrow;
    const account = await client.readContract({ address, abi: inferenceEscrowAbi, functionName: "accountOf", args: [address] });
    const free: number = account.free;
    const [lock] = parseEventLogs({ abi: inferenceEscrowAbi, eventName: "JobLocked", logs: [] });
    const wallet: \`0x\${string}\` | undefined = lock?.args.wallet;
    const own: Contracts = { ...addresses[31337], InferenceEscrow: "0x90F79bf6EB2c4f870365E785982E1f101E93b906" };
    // @ts-expect-error a deployment has all its contracts
    const part: Contracts = { InferenceEscrow: own.InferenceEscrow };
    // @ts-expect-error there is no such function
    await client.readContract({ address, abi: inferenceEscrowAbi, functionName: "accountOff", args: [address] });
    // @ts-expect-error a message has all its fields
    hashTypedData({ domain: escrowDomain(1, address), types: authorizationTypes, primaryType: "Authorization", message: { jobId: "0x" } });
    export { free, part, wallet, encodeDeployData, inferenceEscrowBytecode };
  `,
  verify: (name) => `
    import { auditJob, type JobAudit } from "${name}";
    const audit = {} as JobAudit;
    const charged: number = audit.credits_charged;
    // @ts-expect-error a job's evidence is read by a reader
    await auditJob({ jobId: "0x" });
    export { charged };
  `,
};

let typed: [workspace: string, Installed][];
beforeAll(async () => {
  const installed = Object.keys(PROGRAMS).map(async (workspace) => [workspace, await install(workspace)] as const);
  typed = (await Promise.all(installed)).map(([workspace, one]) => [workspace, one]);
});

/** Writes the programs and the examples of the READMEs; their names. */
function writePrograms(): string[] {
  return typed.flatMap(([workspace, { at, folder, name }]) => {
    const examples = readFileSync(join(at, "README.md"), "utf8").matchAll(/```ts\n(.*?)```/gs);
    const texts = [PROGRAMS[workspace]?.(name) ?? "", ...[...examples].map(([, example = ""]) => example)];
    return texts.map((text, i) => {
      const file = `${workspace}${i}.ts`;
      writeFileSync(join(folder, file), text);
      return file;
    });
  });
}

it("a user's programs and the READMEs' examples have the types they show", async () => {
  const folder = await installOnce();
  const typeRoots = [join(ROOT, "node_modules", "@types")];
  const compilerOptions = { strict: true, target: "es2024", noEmit: true, types: ["node"], typeRoots };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: writePrograms() }));
  // A bundler's resolution takes all that Node's takes.
  const { stdout } = await execa("tsc", ["-p", folder, "--checkers", "1", "--module", "nodenext"], {
    cwd: folder,
    preferLocal: true,
    localDir: ROOT,
    reject: false,
  });
  expect(stdout).toBe("");
});

it("each package names what its types import among its dependencies", () => {
  for (const [workspace, { at, manifest }] of typed) {
    const text = globSync("dist/**/*.d.ts", { cwd: at }).map((file) => readFileSync(join(at, file), "utf8"));
    const imported = text.flatMap((one) =>
      [...one.matchAll(/\b(?:from|import\() ?"([@\w][@\w/.:-]*)"/g)].map(([, id]) => id),
    );
    const names = imported.map((id = "") => id.split("/", id.startsWith("@") ? 2 : 1).join("/"));
    const known = [...Object.keys(manifest.dependencies ?? {}), ...builtinModules];
    const foreign = names.filter((name) => !name.startsWith("node:") && !known.includes(name));
    expect(new Set(foreign), workspace).toEqual(new Set());
  }
});
