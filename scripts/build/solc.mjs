/**
 * The compiler of the package `solc`, unchanged, with faster calls: the tests' compiler. Where its C++ could catch an exception, it calls a
 * function of JavaScript. `invoke_vii(index, a1, a2)` calls entry `index` of the compiler's table, and notes it if a number is thrown.
 * Here a second WebAssembly module has each such function whose values are all 32-bit integers: almost all calls.
 *
 * With PLAIN_SOLC=1 the compiler runs as it is. The release is made so; tests compile the same bytes.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import wabt from "wabt";

const require = createRequire(import.meta.url);
const { parseWat } = await wabt();
const { Instance, JSTag, Module, Table } = WebAssembly;

/** A letter for each value: the result (v: none), then the arguments. */
const INVOKE = /^invoke_([vi])(i*)$/;

function functionOf(name) {
  const [, result, letters] = INVOKE.exec(name);
  const [returns, nothing] = result === "v" ? ["", ""] : ["(result i32)", "(i32.const 0)"];
  const takes = `(param ${[...letters].fill("i32").join(" ")})`;
  const values = [...letters].map((_, i) => `(local.get ${i + 1})`).join(" ");
  return `(func (export "${name}") (param $index i32) ${takes} ${returns} (local $stack i32)
    (local.set $stack (call_indirect $stackSave (result i32) (i32.const 0)))
    (try ${returns}
      (do (call_indirect $table ${takes} ${returns} ${values} (local.get $index)))
      (catch $thrown (call $caught (local.get $stack)) ${nothing})))`;
}

function moduleOf(names) {
  const text = `(module
    (import "js" "table" (table $table 0 funcref))
    (import "js" "stackSave" (table $stackSave 1 funcref))
    (import "js" "thrown" (tag $thrown (param externref)))
    (import "js" "caught" (func $caught (param externref i32)))
    ${names.map(functionOf).join("\n")})`;
  return new Module(parseWat("invoke.wat", text, { exceptions: true, reference_types: true }).toBinary({}).buffer);
}

/** The compiler, with the functions of the second module among its imports. */
function instanceOf(module, imports) {
  const source = readFileSync(require.resolve("solc/soljson.js"), "latin1");
  const found = (what, value) => {
    if (value) return value;
    throw new Error(`scripts/build/solc.mjs does not fit this version of the package solc: there is no ${what}`);
  };
  // The names of the exports are shortened; the package's source says which is which.
  const exported = (name) => found(name, new RegExp(`Module\\["${name}"\\] = asm\\["(\\w+)"\\]`).exec(source))[1];
  const [stackSave, stackRestore, setThrew] = ["stackSave", "stackRestore", "_setThrew"].map(exported);
  const replaced = Object.entries(imports.a ?? {}).filter(([, { name }]) => INVOKE.test(name));
  found("function invoke_vii", replaced.length);

  const tableOf = (initial) => new Table({ element: "anyfunc", initial });
  const tables = { table: tableOf(0), stackSave: tableOf(1) };
  const caught = (error, stack) => {
    compiler.exports[stackRestore](stack);
    // The compiler's exceptions are numbers.
    if (typeof error !== "number") throw error;
    compiler.exports[setThrew](1, 0);
  };
  const second = new Instance(moduleOf(replaced.map(([, { name }]) => name)), {
    js: { ...tables, thrown: JSTag, caught },
  });
  for (const [key, { name }] of replaced) imports.a[key] = second.exports[name];
  const compiler = new Instance(module, imports);

  // JavaScript adds entries later, such as a reader of files. The compiler calls those directly, by no function of the second module.
  const own = found(
    "table of functions",
    Object.values(compiler.exports).find((value) => value instanceof Table),
  );
  tables.table.grow(own.length);
  for (let i = 0; i < own.length; i++) tables.table.set(i, own.get(i));
  tables.stackSave.set(0, compiler.exports[stackSave]);
  return compiler;
}

function load() {
  if (process.env["PLAIN_SOLC"] === "1") return require("solc/soljson.js");
  WebAssembly.Instance = instanceOf;
  try {
    return require("solc/soljson.js");
  } finally {
    WebAssembly.Instance = Instance;
  }
}

export default load();
