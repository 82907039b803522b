/**
 * The compiler of the package `solc`, unchanged, with a faster table of functions. It looks up the target of each call that can throw, and V8's
 * lookup is slow: a third of a compilation. Here the table remembers what it has found.
 */
import { createRequire } from "node:module";

const { get, set } = WebAssembly.Table.prototype;
let table;
let known = [];

WebAssembly.Table.prototype.get = function (index) {
  if (this !== table) {
    table = this;
    known = [];
  }
  known[index] ??= get.call(this, index);
  return known[index];
};

WebAssembly.Table.prototype.set = function (index, value) {
  known = [];
  set.call(this, index, value);
};

export default createRequire(import.meta.url)("solc/soljson.js");
