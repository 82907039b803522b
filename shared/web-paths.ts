/** Pages of the signed-in wallet. */
export const OWN_PATHS = {
  overview: "/app",
  fund: "/app/fund",
  jobs: "/app/jobs",
  statement: "/app/statement",
  webhooks: "/app/webhooks",
  webhook: "/app/webhooks/:id",
  settings: "/app/settings",
  desk: "/app/my-workers",
  deskWorker: "/app/my-workers/:id",
} as const;

/** Every page of the web application. The server answers any other path below /app with 404. */
export const PATHS = {
  /** The front page, for visitors; API clients find nothing here. */
  front: "/",
  ...OWN_PATHS,
  job: "/app/jobs/:id",
  models: "/app/models",
  model: "/app/models/:id",
  workers: "/app/workers",
  worker: "/app/workers/:id",
  operator: "/app/operators/:id",
  disputes: "/app/disputes",
  dispute: "/app/disputes/:id",
  governance: "/app/governance",
  explorer: "/app/explorer",
  status: "/app/status",
  joblist: "/app/explorer/jobs",
  transactions: "/app/explorer/transactions",
  transaction: "/app/tx/:hash",
  block: "/app/block/:number",
  address: "/app/address/:address",
} as const;

/** How a page can be shown; `system` is as the reader's browser says. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
