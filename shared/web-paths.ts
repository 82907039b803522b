/** Every page of the web application. The server answers any other path below /app with 404. */
export const PATHS = {
  /** What the service is, for whoever comes; API clients find nothing here. */
  front: "/",
  overview: "/app",
  fund: "/app/fund",
  jobs: "/app/jobs",
  job: "/app/jobs/:id",
  webhooks: "/app/webhooks",
  webhook: "/app/webhooks/:id",
  settings: "/app/settings",
  models: "/app/models",
  model: "/app/models/:id",
  workers: "/app/workers",
  worker: "/app/workers/:id",
  desk: "/app/my-workers",
  deskWorker: "/app/my-workers/:id",
  operator: "/app/operators/:id",
  explorer: "/app/explorer",
  transaction: "/app/tx/:hash",
  block: "/app/block/:number",
  address: "/app/address/:address",
} as const;
