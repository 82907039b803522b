import { type RequestHandler, Router } from "express";
import type { Ability } from "../../protocol/dispatch.ts";
import type { Directory, Model } from "../chain/directory.ts";
import { ApiError, quoted } from "../errors.ts";
import type { WorkerPool } from "../jobs/worker-pool.ts";

/** Fields of a chat request that every model takes. */
const ALWAYS = ["max_tokens", "temperature", "top_p", "stop", "frequency_penalty", "presence_penalty", "seed"] as const;
/** How the field is named that clients of other routers look for. */
const PARAMETERS: Record<Ability, string> = {
  json_object: "response_format",
  json_schema: "structured_outputs",
  reasoning: "reasoning_effort",
};

/** `GET /v1/models` and `GET /v1/models/{model_id}`. A model is listed only while a worker hosts it. */
export function modelRoutes(directory: Directory, workers: WorkerPool): Router {
  const show = (model: Model) => ({
    id: model.id,
    object: "model",
    created: model.createdAt,
    owned_by: model.ownedBy,
    service: {
      tier: model.tier,
      credits_per_request: model.creditsPerRequest,
      credits_per_1k_tokens: model.creditsPer1kTokens,
      active_workers: workers.hosts(model.number).length,
      median_latency_ms: workers.medianFirstToken(model.number),
      parameters: model.parameters,
      context_window: model.contextWindow,
      supported_parameters: [...ALWAYS, ...workers.abilities(model.number).map((ability) => PARAMETERS[ability])],
      retires_at: model.retiresAt === 0 ? null : new Date(model.retiresAt * 1000).toISOString(),
    },
  });

  const list: RequestHandler = (_request, response) => {
    const data = directory.models().map(show);
    response.json({ object: "list", data: data.filter((model) => model.service.active_workers > 0) });
  };

  const one: RequestHandler = (request, response) => {
    const id = String(request.params.model_id);
    const model = directory.model(id);
    const shown = model && show(model);
    if (shown === undefined || shown.service.active_workers === 0) {
      throw new ApiError("model_not_found", `There is no model ${quoted(id)}; GET /v1/models lists them.`, {
        status: 404,
        param: "model_id",
      });
    }
    response.json(shown);
  };

  return Router().get("/", list).get("/:model_id", one);
}
