/** Every endpoint of the API, in the order of the reference. */
import { getAccountRoute } from "./account.ts";
import { chatRoute } from "./chat.ts";
import { disputeJobRoute } from "./dispute.ts";
import { getJobOutputRoute, getJobRoute, listJobsRoute } from "./jobs.ts";
import { getModelRoute, listModelsRoute } from "./models.ts";
import { createWebhookRoute, deleteWebhookRoute, listWebhooksRoute } from "./webhooks.ts";

export { chatRoute };

export const JOB_ROUTES = [listJobsRoute, getJobRoute, getJobOutputRoute, disputeJobRoute];
export const WEBHOOK_ROUTES = [listWebhooksRoute, createWebhookRoute, deleteWebhookRoute];
/** All but the chat's, which reads its body itself. */
export const FORM_ROUTES = [listModelsRoute, getModelRoute, ...JOB_ROUTES, getAccountRoute, ...WEBHOOK_ROUTES];
export const ROUTES = [chatRoute, ...FORM_ROUTES];

const PATHS = [...new Set(ROUTES.map(({ path }) => path))].map((path) => ({
  path,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`, "i"),
  // Express answers HEAD where there is a GET.
  methods: ROUTES.filter((route) => route.path === path).flatMap(({ method }) =>
    method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()],
  ),
}));

/** Methods of a path of the API; null for a path that does not exist. */
export function methodsOf(path: string): string[] | null {
  return PATHS.find(({ pattern }) => pattern.test(path))?.methods ?? null;
}

/** The path's pattern, such as `/v1/jobs/{job_id}`: a label that does not grow with the ids. Null for no path of the API. */
export function patternOf(path: string): string | null {
  return PATHS.find(({ pattern }) => pattern.test(path))?.path ?? null;
}
