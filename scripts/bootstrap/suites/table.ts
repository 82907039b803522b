/**
 * The test suites with the time each takes. After the first they run in LANES lanes, each lane taking the next of the list: long ones
 * stand first. All of it stays well below 15 minutes on two quiet cores.
 */

/** How the passed and failed checks of a program are counted. */
export type Counting = "exit code" | "mocha" | "vitest";
export type Step = { title: string; args: string[]; count: Counting };
export type Suite = {
  name: string;
  /** What it takes on two quiet cores, beside the others. */
  seconds: number;
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
  seconds: 60,
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
  seconds: 400,
  folders: ["test/contracts", "contracts"],
  steps: [
    { title: "hardhat", args: [bin("hardhat/dist/src/cli.js"), "test"], count: "mocha" },
    // These tests have types that only the compiled contracts give.
    { title: "types", args: [bin("typescript/bin/tsc"), "--noEmit", "-p", "test/contracts"], count: "exit code" },
  ],
};

function vitest(name: string, seconds: number, folders = [`test/${name}`]): Suite {
  return {
    name,
    seconds,
    folders,
    steps: [{ title: "vitest", args: [bin("vitest/vitest.mjs"), "run", "--project", name], count: "vitest" }],
  };
}

/** Vitest's suites; vitest.config.ts makes a project of each. */
export const VITEST_SUITES: readonly Suite[] = [
  vitest("api", 470),
  vitest("worker", 320),
  vitest("e2e", 240),
  vitest("indexer", 160),
  vitest("faults", 110),
  vitest("webhooks", 105),
  vitest("web", 100),
  vitest("bootstrap", 65),
  vitest("verify", 60),
  vitest("unit", 60, ["test/unit", "test/protocol"]),
];

/** The web application, which every API serves. Runs first, whatever is asked for, rather than in the first suite that starts an API. */
export const BUILD: Suite = {
  name: "build",
  seconds: 10,
  folders: [],
  steps: [{ title: "web application", args: ["scripts/build/web.ts"], count: "exit code" }],
};

export const SUITES: readonly Suite[] = [BUILD, contracts, ...VITEST_SUITES, lint];

/** Suites that run at a time: many of them wait more than they compute, so that two on two cores leave them idle for a third of the time. */
export const LANES = 3;

/** Seconds after which a suite hangs, and is killed with all it started: machines are shared, and can be several times as slow. */
export const budgetOf = ({ seconds }: Suite): number => 60 + 4 * seconds;

/** The same of some of its files. */
export const FILES_BUDGET = 600;
