/**
 * The test suites with the time each may take: about twice what it takes on two quiet cores, for machines are shared. After the
 * first they run in LANES lanes, each lane taking the next of the list: long ones stand first. Half of it all stays well below 15 minutes.
 */

/** How the passed and failed checks of a program are counted. */
export type Counting = "exit code" | "mocha" | "vitest";
export type Step = { title: string; args: string[]; count: Counting };
export type Suite = {
  name: string;
  /** Seconds; a suite that takes longer is killed with everything it started. */
  budget: number;
  /** Folders whose tests it runs; without any test in them it is skipped. */
  folders: string[];
  steps: Step[];
};

const bin = (file: string): string => `node_modules/${file}`;
const SOLIDITY = [
  "contracts/**/*.sol",
  "test/contracts/**/*.sol",
  "test/verify/contracts/*.sol",
  "test/web/contracts/*.sol",
];

const lint: Suite = {
  name: "lint",
  budget: 120,
  folders: [],
  steps: [
    { title: "biome", args: [bin("@biomejs/biome/bin/biome"), "check", "--max-diagnostics=50"], count: "exit code" },
    {
      title: "prettier (Solidity)",
      args: [bin("prettier/bin/prettier.cjs"), "--check", "--no-error-on-unmatched-pattern", ...SOLIDITY],
      count: "exit code",
    },
    {
      title: "solhint",
      args: [bin("solhint/solhint.js"), "--noPoster", "--max-warnings=0", ...SOLIDITY],
      count: "exit code",
    },
    { title: "types", args: [bin("typescript/bin/tsc"), "--noEmit"], count: "exit code" },
    { title: "types (indexer)", args: [bin("typescript/bin/tsc"), "--noEmit", "-p", "indexer"], count: "exit code" },
    { title: "types (web)", args: [bin("typescript/bin/tsc"), "--noEmit", "-p", "web"], count: "exit code" },
  ],
};

const contracts: Suite = {
  name: "contracts",
  budget: 300,
  folders: ["test/contracts", "contracts"],
  steps: [{ title: "hardhat", args: [bin("hardhat/dist/src/cli.js"), "test"], count: "mocha" }],
};

function vitest(name: string, budget: number, folders = [`test/${name}`]): Suite {
  return {
    name,
    budget,
    folders,
    steps: [{ title: "vitest", args: [bin("vitest/vitest.mjs"), "run", "--project", name], count: "vitest" }],
  };
}

/** Vitest's suites; vitest.config.ts makes a project of each. */
export const VITEST_SUITES: readonly Suite[] = [
  vitest("api", 540),
  vitest("indexer", 320),
  vitest("webhooks", 300),
  vitest("worker", 500),
  vitest("faults", 420),
  vitest("e2e", 250),
  vitest("web", 200),
  vitest("verify", 120),
  vitest("bootstrap", 130),
  vitest("unit", 40, ["test/unit", "test/protocol"]),
];

/** Artifacts and generated types: what the linters read and the suites deploy. Runs first, whatever is asked for. */
export const COMPILE: Suite = {
  name: "compile",
  budget: 150,
  folders: [],
  steps: [
    { title: "compile", args: [bin("hardhat/dist/src/cli.js"), "compile"], count: "exit code" },
    // Before anything generates them anew: the committed ABIs must be those of the contracts.
    { title: "generated ABIs", args: ["scripts/build/generate-abi.ts", "--check"], count: "exit code" },
    // Leaves the mark by which stacks see that nothing is to be compiled: two compilers at once would disturb each other.
    { title: "mark", args: ["scripts/local-stack/compile-main.ts"], count: "exit code" },
    // Once here rather than in the first suite that starts an API.
    { title: "web application", args: ["scripts/build/web.ts"], count: "exit code" },
  ],
};

export const SUITES: readonly Suite[] = [COMPILE, contracts, ...VITEST_SUITES, lint];

/** Suites that run at a time: many of them wait more than they compute, so that two on two cores leave them idle for a third of the time. */
export const LANES = 3;
