/** The registry in which the files of src/ enter the events that they handle. Ponder reads `fns` once it has loaded those files. */
import type { ponder as Registry } from "ponder:registry";

export type { Context } from "ponder:registry";

const fns: { name: string; fn: unknown }[] = [];
const on = (name: string, fn: unknown): void => void fns.push({ name, fn });

export const ponder = { fns, on } as unknown as typeof Registry;
