/**
 * Breaks the contracts on purpose, one line at a time, and says which faults no test noticed.
 *
 *   npm run mutate -- [--file contracts/InferenceEscrow.sol] [--limit 20] [--seed 1] [--timeout 300] [--minutes 30]
 *
 * `--file` (repeatable) chooses files, by default all where money moves; `--limit` takes that many mutants, drawn by `--seed`;
 * `--timeout` is seconds a mutant's tests may take (one that runs into it counts as noticed); `--minutes` ends the run early.
 * Exit code 1 when a mutant survived.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { applied, type Mutant, mutantsOf } from "./mutation/operators.ts";
import { ROOT, Scratch } from "./mutation/scratch.ts";
import { TARGETS } from "./mutation/targets.ts";

type Verdict = "killed" | "survived" | "not compiled" | "timeout";

const { values } = parseArgs({
  options: {
    file: { type: "string", multiple: true },
    limit: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    timeout: { type: "string", default: "300" },
    minutes: { type: "string", default: "600" },
  },
});

function count(name: "limit" | "seed" | "timeout" | "minutes"): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} must be a positive whole number, not ${values[name]}`);
}

const targets = TARGETS.filter(({ file }) => values.file?.includes(file) ?? true);
for (const file of values.file ?? [])
  if (!TARGETS.some((target) => target.file === file))
    throw new Error(`no tests are named for ${file}; scripts/mutation/targets.ts has the files and their tests`);

/** The same draw for the same seed (mulberry32), evenly over all mutants. */
function drawn(mutants: Mutant[], limit: number, seed: number): Mutant[] {
  let state = seed;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const left = [...mutants];
  const chosen: Mutant[] = [];
  while (left.length > 0 && chosen.length < limit) chosen.push(...left.splice(Math.floor(random() * left.length), 1));
  return chosen;
}

const sourceOf = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const LIFE = ["test/contracts/solidity/Life.t.sol", "test/contracts/solidity/life/Life.sol"];

/** The first failing test, as the runner names it. */
function failureIn(output: string): string {
  const plain = output.split("\n");
  const at = plain.findIndex((line) => /^ {2}1\) /.test(line));
  if (at < 0) return plain.filter((line) => line.trim()).at(-1) ?? "";
  return plain
    .slice(at, at + 4)
    .map((line) => line.trim())
    .filter(Boolean)
    .join(" / ")
    .slice(0, 160);
}

/** Compiles what the scratch folder holds now and runs tests on it until one fails. */
async function judge(scratch: Scratch, tests: string[]): Promise<{ verdict: Verdict; by: string }> {
  const compiled = await scratch.hardhat(["compile", "--quiet"], 600);
  if (compiled.code !== 0) return { verdict: "not compiled", by: compiled.output };
  const steps = [
    ["test", "mocha", "--no-compile", ...scratch.tests(tests)],
    ["test", "solidity", ...LIFE],
  ];
  for (const step of steps) {
    const run = await scratch.hardhat(step, count("timeout"));
    if (run.overTime) return { verdict: "timeout", by: "" };
    if (run.code !== 0) return { verdict: "killed", by: failureIn(run.output) };
  }
  return { verdict: "survived", by: "" };
}

async function judgeMutant(scratch: Scratch, mutant: Mutant): ReturnType<typeof judge> {
  const original = sourceOf(mutant.file);
  scratch.write(mutant.file, applied(original, mutant));
  try {
    return await judge(scratch, TARGETS.find(({ file }) => file === mutant.file)?.tests ?? []);
  } finally {
    scratch.write(mutant.file, original);
  }
}

const all = targets.flatMap(({ file }) => mutantsOf(file, sourceOf(file)));
const mutants = drawn(all, count("limit"), count("seed"));
console.log(`${mutants.length} of ${all.length} mutants of ${targets.length} files, seed ${count("seed")}`);

const scratch = new Scratch();
const tally: Record<Verdict, number> = { killed: 0, survived: 0, "not compiled": 0, timeout: 0 };
const until = performance.now() + count("minutes") * 60_000;
try {
  const whole = await judge(scratch, [...new Set(targets.flatMap(({ tests }) => tests))]);
  if (whole.verdict !== "survived") throw new Error(`the tests fail without a mutant (${whole.verdict}): ${whole.by}`);
  for (const mutant of mutants) {
    if (performance.now() > until) break;
    const { verdict, by } = await judgeMutant(scratch, mutant);
    tally[verdict] += 1;
    console.log(`${verdict.toUpperCase()} ${mutant.file}:${mutant.line} (${mutant.operator})`);
    console.log(`    ${mutant.before}\n  → ${mutant.after || "(nothing)"}${verdict === "killed" ? `\n    ${by}` : ""}`);
  }
} finally {
  scratch.remove();
}
const noticed = tally.killed + tally.timeout;
console.log(`${noticed} of ${noticed + tally.survived} noticed (${tally["not compiled"]} did not compile)`);
if (tally.survived > 0) process.exitCode = 1;
