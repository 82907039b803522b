/** The compiler with faster calls hears of its own exceptions, and of no others. The release's test compares what it makes. */
import { execa } from "execa";
import { beforeAll, expect, it } from "vitest";
import { ROOT } from "../support/processes.ts";

const PRAGMA = "// SPDX-License-Identifier: MIT\npragma solidity 0.8.37;\n";
const GOOD = "contract A { uint256 public value = 1; }";
const NAMES = Array.from({ length: 18 }, (_, i) => `uint256 v${i}`).join(", ");
const SOURCES = ["contract A {", `contract A { function f(${NAMES}) external {} }`, 'import "./B.sol";', GOOD];

/** In a process of its own: the compiler stays in memory, and handles rejections of its process. Prints what it says of each source. */
const PROGRAM = `
  import wrapped from "solc/wrapper.js";
  import compiler from "./scripts/build/solc.mjs";
  const solc = wrapped(compiler);
  let calls = "";
  const read = (path) => {
    calls = new Error().stack;
    if (path === "Thrown.sol") throw new Error("mine");
    return { error: "there is no " + path };
  };
  const compile = (content) => {
    const settings = { outputSelection: { "*": { "*": ["evm.bytecode.object"] } } };
    const input = { language: "Solidity", sources: { "A.sol": { content: ${JSON.stringify(PRAGMA)} + content } }, settings };
    return JSON.parse(solc.compile(JSON.stringify(input), { import: read }));
  };
  const said = ${JSON.stringify(SOURCES)}.map(compile);
  let thrown = "nothing";
  try { compile('import "Thrown.sol";'); } catch (error) { thrown = error.message; }
  console.log(JSON.stringify({ said, calls, thrown }));
`;

type Output = { errors?: { severity: string; message: string }[]; contracts?: Record<string, object> };
type Printed = { said: Output[]; calls: string; thrown: string };

async function run(env: Record<string, string>): Promise<Printed> {
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", PROGRAM], { cwd: ROOT, env });
  return JSON.parse(stdout);
}

let printed: Printed;
beforeAll(async () => {
  printed = await run({});
});

const errorsOf = ({ errors = [] }: Output) =>
  errors.flatMap(({ severity, message }) => (severity === "error" ? [message] : [])).join();

it("tells fatal errors, those thrown far below, and those of a reader of files", () => {
  const [parser, generator, reader] = printed.said.map(errorsOf);
  expect(parser).toContain("declaration expected");
  expect(generator).toContain("Stack too deep");
  expect(reader).toContain("there is no B.sol");
});

it("compiles on after them", () => {
  const good = printed.said.at(-1) as Output;
  expect(errorsOf(good)).toBe("");
  const bytecode = { object: expect.stringMatching(/^60806040/) };
  expect(good.contracts).toEqual({ "A.sol": { A: { evm: { bytecode } } } });
});

it("hands on what somebody else throws", () => expect(printed.thrown).toBe("mine"));

it("calls nothing through JavaScript, unless it shall run as it is", async () => {
  expect(printed.calls).toContain("wasm");
  expect(printed.calls).not.toContain("invoke_");
  const plain = await run({ PLAIN_SOLC: "1" });
  expect(plain.calls).toContain("invoke_");
  expect(plain.said).toEqual(printed.said);
});
