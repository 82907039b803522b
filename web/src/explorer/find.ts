/** Finds the page that a searched text leads to. Pure: what only the service can tell is asked for with `hashOf`. */
import type { Address, Hex } from "viem";

export type Place = { kind: string; label: string; path: string };

/** 64 hex digits, with or without 0x or `sha256:`, in any case: a transaction, a block or the proof hash of jobs. Null for another text. */
export function hashOf(text: string): Hex | null {
  const [, digits] = /^(?:0x|sha256:)?([0-9a-f]{64})$/.exec(text.trim().toLowerCase()) ?? [];
  return digits === undefined ? null : `0x${digits}`;
}

/** A job's id (of the API or of the chain) or an address, in any case and with or without 0x; the number of a block, a worker or an operator. */
export function placesOf(text: string): Place[] {
  const wanted = text.trim().toLowerCase();
  const [, job] = /^(?:chatcmpl-)?job_([0-9a-f]{32})$/.exec(wanted) ?? /^(?:0x)?([0-9a-f]{32})$/.exec(wanted) ?? [];
  if (job !== undefined) return [{ kind: "Job", label: `job_${job}`, path: `/app/jobs/job_${job}` }];
  const [, address] = /^(?:0x)?([0-9a-f]{40})$/.exec(wanted) ?? [];
  if (address !== undefined) return [{ kind: "Address", label: `0x${address}`, path: `/app/address/0x${address}` }];
  const [, kind, digits] = /^(block|worker|operator)?\s*#?\s*([\d,]{1,12})$/.exec(wanted) ?? [];
  const number = Number(digits?.replaceAll(",", ""));
  if (digits === undefined || number > 999_999_999) return [];
  const places = [
    { kind: "Block", label: String(number), path: `/app/block/${number}` },
    { kind: "Worker", label: String(number), path: `/app/workers/${number}` },
    { kind: "Operator", label: String(number), path: `/app/operators/${number}` },
  ];
  return kind === undefined ? places : places.filter((place) => place.kind.toLowerCase() === kind);
}

/** The contracts and models whose name has the text in it. */
export function placesNamed(
  text: string,
  { contracts, models }: { contracts: Record<string, Address>; models: readonly string[] },
): Place[] {
  const wanted = text.trim().toLowerCase();
  if (wanted.length < 2) return [];
  return [
    ...models.map((id) => ({ kind: "Model", label: id, path: `/app/models/${encodeURIComponent(id)}` })),
    ...Object.entries(contracts).map(([name, at]) => ({ kind: "Contract", label: name, path: `/app/address/${at}` })),
  ].filter(({ label }) => label.toLowerCase().includes(wanted));
}

/** The path of the page for a job's id, a transaction's hash or an address; null for another text. */
export function pathOf(text: string): string | null {
  const hash = hashOf(text);
  return hash === null ? (placesOf(text)[0]?.path ?? null) : `/app/tx/${hash}`;
}
