/** The gateway's read side: everything a client can list, over the indexer's views. */
export { getAccount } from "./accounts.ts";
export { getDispute, listDisputes, listSlashes } from "./disputes.ts";
export { beforeBlock, listEvents, listJobEvents, listWalletEvents } from "./events.ts";
export { getHead } from "./head.ts";
export { getJob, getJobs, getPositions, type JobQuery, listJobs, listOverdueJobs, UnknownCursor } from "./jobs.ts";
export { getModel, listModels } from "./models.ts";
export { IndexUnavailable } from "./query.ts";
export type * from "./rows.ts";
export { getWorker, listWorkers } from "./workers.ts";
