/** Rows of jobs in memory, for tests of what a gateway does around them. */

import type { JobStore } from "../../api/db/jobs.ts";
import type { JobRecord } from "../../api/jobs/job-record.ts";

/** What a running job asks of `store` and `record`; `write` is told every step by its name. */
export function rowsInMemory(write: (step: string, change: object) => Promise<void> = async () => {}) {
  const step = (name: string) => (change: object) => write(name, change);
  const store = {
    newJob: (job: object) => job,
    insist: (_until: number, work: () => Promise<void>) => work(),
    locked: step("locked"),
    taken: step("taken"),
    answered: step("answered"),
    ended: step("ended"),
    refused: (_jobId: string, failure: string) => write("refused", { failure }),
  } as unknown as JobStore;
  const record = { written: async () => {} } as unknown as JobRecord;
  return { store, record };
}
