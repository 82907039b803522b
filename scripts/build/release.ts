/** Compiles the release, and lists the files that it consists of. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { HardhatPlugin } from "hardhat/types/plugins";
import type {
  BuildOptions,
  SolidityBuildInfo,
  SolidityBuildInfoOutput,
  SolidityBuildSystem,
} from "hardhat/types/solidity";
import { RELEASED, type ReleasedContract, type ReleasedName, type StorageLayout } from "../deploy/released.ts";

/**
 * Hardhat compiles the released contracts in one job: all of them, with what they import, and nothing else. By itself it would add the test
 * contracts to the job, or compile only the files that changed. The compiler promises the same bytes for the same input alone.
 */
export const releasePlugin: HardhatPlugin = {
  id: "release",
  hookHandlers: {
    solidity: async () => ({
      default: async () => ({
        build: async (context, roots, options, next) => {
          const { solidity, globalOptions } = context;
          const release = releaseRoots(roots);
          // Part of the release, or code changed to count coverage: no release comes of it.
          if (release.length !== RELEASED.length || globalOptions.coverage) return await next(context, roots, options);
          if (release.length === roots.length) {
            const force = options?.force || !(await isCompiled(solidity, release, options));
            return await next(context, roots, { ...options, force });
          }
          const rest = roots.filter((root) => !release.includes(root));
          for (const part of [release, rest]) {
            const built = await solidity.build(part, { ...options, cleanupArtifacts: false });
            if (!solidity.isSuccessfulBuildResult(built)) return built;
            if ([...built.values()].some(({ type }) => type === "BUILD_FAILURE")) return built;
          }
          // All of it is compiled: this call only removes what belongs to no source any more.
          return await next(context, roots, { ...options, force: false, quiet: true });
        },
      }),
    }),
  },
};

/**
 * Lets the files with a compiler setting of their own, the Solidity tests, be compiled in one job. Hardhat makes a job of the files whose
 * settings are the same object, and would compile what they share once for each.
 */
export const oneTestJobPlugin: HardhatPlugin = {
  id: "one-test-job",
  hookHandlers: {
    config: async () => ({
      default: async () => ({
        resolveUserConfig: async (given, resolveVariable, next) => {
          const config = await next(given, resolveVariable);
          for (const { overrides } of Object.values(config.solidity.profiles)) {
            const [shared] = Object.values(overrides);
            if (shared !== undefined) for (const file of Object.keys(overrides)) overrides[file] = shared;
          }
          return config;
        },
      }),
    }),
  },
};

/** The files that define the released contracts, wherever they lie: a contract's file has its name. */
function releaseRoots(roots: readonly string[]): string[] {
  const names = new Set(RELEASED.map((name) => `${name}.sol`));
  return roots.filter((root) => names.has(basename(root)));
}

/** True if all artifacts are from one compilation of the present sources. */
async function isCompiled(solidity: SolidityBuildSystem, release: string[], options?: BuildOptions): Promise<boolean> {
  const [whole, left] = await Promise.all(
    [true, false].map((force) => solidity.getCompilationJobs(release, { ...options, force, quiet: true })),
  );
  if (!whole?.success || !left?.success) return false;
  const id = await [...whole.compilationJobsPerFile.values()][0]?.getBuildId();
  return left.cacheHits.size === release.length && [...left.cacheHits.values()].every(({ buildId }) => buildId === id);
}

/** Texts of all files of the release by their path from the project's root, from what Hardhat has compiled. */
export async function releaseFiles({ artifacts }: HardhatRuntimeEnvironment): Promise<Map<string, string>> {
  const compiled = await Promise.all(RELEASED.map((name) => artifacts.readArtifact(name as string)));
  const [id, ...others] = new Set(compiled.map(({ buildInfoId }) => buildInfoId));
  if (id === undefined || others.length > 0) throw new Error("the released contracts were not compiled together");
  const read = async <T>(file: Promise<string | undefined>): Promise<T> =>
    JSON.parse(readFileSync((await file) ?? "", "utf8")) as T;
  const { input, solcLongVersion } = await read<SolidityBuildInfo>(artifacts.getBuildInfoPath(id));
  const { output } = await read<SolidityBuildInfoOutput>(artifacts.getBuildInfoOutputPath(id));

  const contracts = compiled.map((artifact): [ReleasedName, ReleasedContract] => {
    const { _format, contractName, sourceName, abi, bytecode, deployedBytecode } = artifact;
    const { linkReferences, deployedLinkReferences, immutableReferences = {}, inputSourceName = "" } = artifact;
    const { storageLayout } = (output.contracts?.[inputSourceName]?.[contractName] ?? {}) as {
      storageLayout?: StorageLayout;
    };
    if (storageLayout === undefined) throw new Error(`the compiler says nothing of the storage of ${contractName}`);
    // By place: the names of the immutables are numbers of the syntax tree.
    const immutables = Object.values(immutableReferences)
      .flat()
      .sort((a, b) => a.start - b.start);
    const references = { linkReferences, deployedLinkReferences, immutables };
    const code = { abi, bytecode, deployedBytecode, ...references };
    const layout = renumbered(storageLayout);
    const names = { _format, contractName, sourceName, inputSourceName };
    const contract = { ...names, compiler: solcLongVersion, ...code, storageLayout: layout };
    return [contractName as ReleasedName, contract];
  });
  return new Map([
    ...contracts.map(([name, contract]): [string, string] => [`contracts/release/${name}.json`, json(contract)]),
    ["contracts/release/compiler-input.json", json({ ...input, sources: sorted(input.sources) })],
    ["protocol/generated/abi.ts", abiModule(new Map(contracts))],
  ]);
}

/** The numbers of the syntax tree change with any line of any source: types are numbered here in the order in which they are named. */
function renumbered({ storage, types }: StorageLayout): StorageLayout {
  const text = JSON.stringify({ storage, types: types ?? {} }, (key, value) =>
    key === "astId" || key === "contract" ? undefined : value,
  );
  const numbers = new Map<string, number>();
  const numbered = /(t_(?:struct|contract|enum|userDefinedValueType)\([\w.$]+\))(\d+)/g;
  return JSON.parse(
    text.replace(numbered, (_, type: string, id: string) => {
      if (!numbers.has(id)) numbers.set(id, numbers.size + 1);
      return `${type}${numbers.get(id)}`;
    }),
  );
}

/** In the order of the code units: Hardhat's own order depends on the machine's language. */
function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function abiModule(contracts: ReadonlyMap<ReleasedName, ReleasedContract>): string {
  // The libraries' functions are called by the escrow alone.
  const names = RELEASED.filter((name) => name !== "DisputeLogic" && name !== "OperatorLogic");
  const constants = names.map((name) => {
    const constant = `${name[0]?.toLowerCase()}${name.slice(1)}Abi`;
    return `export const ${constant} = ${JSON.stringify(contracts.get(name)?.abi, null, 1)} as const;\n`;
  });
  return `// Generated from the compiled contracts by scripts/build/compile.ts. Do not edit.\n\n${constants.join("\n")}`;
}
