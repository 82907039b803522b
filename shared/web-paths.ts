/** Every page of the web application, below /app. The server answers any other path with 404. */
export const PATHS = {
  overview: "/",
  fund: "/fund",
  jobs: "/jobs",
  job: "/jobs/:id",
  webhooks: "/webhooks",
  webhook: "/webhooks/:id",
  settings: "/settings",
  models: "/models",
  workers: "/workers",
  explorer: "/explorer",
  transaction: "/tx/:hash",
} as const;
