/**
 * `npm run smt`: the compiler's SMTChecker has z3 look for inputs that break an assertion of scripts/smt/PricingProofs.sol. The functions
 * have no loops and no state, so also the bounded engine (BMC) covers all inputs: what either engine calls safe is proved.
 * Exit code 1 when an assertion is refuted or left undecided, and when z3 is missing.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LAUNCH_MODELS } from "../contracts/ignition/launch-models.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PROOFS = "scripts/smt/PricingProofs.sol";
const LIBRARY = "contracts/Pricing.sol";
/** Seconds for one question; on a quiet machine each takes less than one. */
const PATIENCE = 20;
const NOT_PROVED = `Not proved here:
  - anything but the first line about prices other than these.
  - that above 500 tokens the price is the rate rounded up, and that it grows with the tokens: z3 leaves the division undecided.
    Fuzz tests check both (test/contracts/solidity/Pricing.t.sol).
  - that quote() reverts above 32 bits: that is OpenZeppelin's SafeCast, whose errors the checker cannot read.
  - anything outside the library: who calls it with which numbers.`;

type Message = { severity: string; formattedMessage: string };
type Solc = { compile(input: string, callbacks: object): string };
type Answer = { contents: string } | { error: string };

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/**
 * The library as a contract to inherit from. Its functions are internal, so they mean the same; but the checker knows the value of a
 * constant only in the contract that it checks.
 */
function asContract(source: string): string {
  const contract = source.replace("library Pricing {", "abstract contract Pricing {");
  if (contract === source) throw new Error(`${LIBRARY} no longer declares the library Pricing`);
  return contract;
}

/** Asks z3 one question in SMT-LIB; its answer is the compiler's to read. */
function solve(query: string): Answer {
  const options = { input: query, encoding: "utf8", timeout: (PATIENCE + 10) * 1_000 } as const;
  const { stdout, stderr, error } = spawnSync("z3", ["-smt2", "-in", `-T:${PATIENCE}`], options);
  if (error) return { error: error.message };
  return /^(sat|unsat|unknown)/.test(stdout) ? { contents: stdout } : { error: stdout || stderr };
}

function importFile(path: string): Answer {
  try {
    return { contents: read(path.startsWith("@") ? join("node_modules", path) : path) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

type Question = { about: string; contract: string; engine: "bmc" | "chc"; proofs: string };

/** What is asked: once for all prices, then for those of each tier of the launch catalog. */
function questions(): Question[] {
  const proofs = read(PROOFS);
  const prices = new Map(LAUNCH_MODELS.map((model) => [model.creditsPerRequest, model.creditsPer1kTokens]));
  const tiers = [...prices].map(([perRequest, per1k]): Question => {
    const own = proofs.replace(/\b(40|20)\b/g, (number) => String(number === "40" ? perRequest : per1k));
    return {
      about: `${perRequest} credits a request, ${per1k} per 1,000 tokens`,
      contract: "TierPrice",
      engine: "bmc",
      proofs: own,
    };
  });
  return [{ about: "any price", contract: "AnyPrice", engine: "chc", proofs }, ...tiers];
}

function check({ contract, engine, proofs }: Question): Message[] {
  const input = {
    language: "Solidity",
    sources: { [PROOFS]: { content: proofs }, [LIBRARY]: { content: asContract(read(LIBRARY)) } },
    settings: {
      evmVersion: "cancun",
      outputSelection: {},
      modelChecker: {
        engine,
        solvers: ["smtlib2"],
        contracts: { [PROOFS]: [contract] },
        targets: ["assert", "divByZero"],
        showProvedSafe: true,
        showUnproved: true,
      },
    },
  };
  const solc = createRequire(import.meta.url)("solc") as Solc;
  const output = solc.compile(JSON.stringify(input), { import: importFile, smtSolver: solve });
  return (JSON.parse(output) as { errors?: Message[] }).errors ?? [];
}

const version = spawnSync("z3", ["--version"], { encoding: "utf8" });
if (version.error) {
  console.error(
    "npm run smt needs the solver z3 on the PATH and finds none.\n" +
      "Install it (Debian, Ubuntu: apt-get install z3; macOS: brew install z3) and run the command again.",
  );
  process.exit(1);
}
console.log(`SMTChecker on ${LIBRARY}, with ${version.stdout.trim()}\n`);

/** What the checker says of something it was asked to prove; its remarks on other things are left out. */
const FINDING = /(CHC|BMC): (?!.*deprecated)(.*)\n\s+--> (.*):(\d+):\d+:\n[\s|]*\d+ \|\s*(.*)\n/;
let proved = 0;
let open = 0;
for (const question of questions()) {
  console.log(`${question.about}:`);
  for (const { severity, formattedMessage } of check(question)) {
    if (severity === "error") throw new Error(formattedMessage);
    const finding = FINDING.exec(formattedMessage);
    if (finding === null) continue;
    const [, , text = "", file, line, code] = finding;
    const safe = /check is safe/.test(text);
    if (safe) proved += 1;
    else open += 1;
    console.log(`  ${safe ? "proved" : "OPEN  "} ${file}:${line}  ${code}${safe ? "" : `\n         ${text}`}`);
  }
}
console.log(`\n${proved} proved, ${open} refuted or undecided.\n${NOT_PROVED}`);
if (open > 0 || proved === 0) process.exitCode = 1;
