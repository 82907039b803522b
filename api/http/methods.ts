import { PATHS } from "../openapi/document.ts";

const ROUTES = Object.entries(PATHS).map(([path, operations]) => ({
  path,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`, "i"),
  // Express answers HEAD where there is a GET.
  methods: [
    ...Object.keys(operations).flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()])),
  ],
}));

/** Methods of a path of the API; null for a path that does not exist. */
export function methodsOf(path: string): string[] | null {
  return ROUTES.find(({ pattern }) => pattern.test(path))?.methods ?? null;
}

/** The path's pattern, such as `/v1/jobs/{job_id}`: a label that does not grow with the ids. Null for no path of the API. */
export function patternOf(path: string): string | null {
  return ROUTES.find(({ pattern }) => pattern.test(path))?.path ?? null;
}
