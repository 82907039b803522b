/**
 * Where a text leads that somebody looks for, in any case and with or without 0x: a job's id (of the API or of the chain), or a
 * transaction's hash. Null when it is neither.
 */
export function pathOf(text: string): string | null {
  const wanted = text.trim().toLowerCase();
  const [, job] = /^(?:chatcmpl-)?job_([0-9a-f]{32})$/.exec(wanted) ?? /^(?:0x)?([0-9a-f]{32})$/.exec(wanted) ?? [];
  if (job !== undefined) return `/app/jobs/job_${job}`;
  const [, transaction] = /^(?:0x)?([0-9a-f]{64})$/.exec(wanted) ?? [];
  return transaction === undefined ? null : `/app/tx/0x${transaction}`;
}
