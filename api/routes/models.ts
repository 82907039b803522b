import { z } from "zod";
import type { Ability } from "../../protocol/dispatch.ts";
import type { Directory, Model } from "../chain/directory.ts";
import { ApiError, quoted } from "../errors.ts";
import { modelListSchema, modelSchema } from "../schemas/resources.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import { defineRoute, pathParameter } from "./define-route.ts";

/** Fields of a chat request that every model takes. */
const ALWAYS = ["max_tokens", "temperature", "top_p", "stop", "frequency_penalty", "presence_penalty", "seed"] as const;
/** The field names by which clients of other routers look for each ability. */
const PARAMETERS: Record<Ability, string> = {
  json_object: "response_format",
  json_schema: "structured_outputs",
  reasoning: "reasoning_effort",
};

type ModelSource = {
  directory: Pick<Directory, "model" | "models">;
  workers: Pick<WorkerPool, "hosts" | "medianFirstToken" | "abilities" | "alwaysReasons">;
};

/** The Model resource of the specification. */
function modelObject(workers: ModelSource["workers"], model: Model): z.infer<typeof modelSchema> {
  return {
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
      always_reasoning: workers.alwaysReasons(model.number),
      retires_at: model.retiresAt === 0 ? null : new Date(model.retiresAt * 1000).toISOString(),
    },
  };
}

/** A model is listed only while a worker hosts it. */
export const listModelsRoute = defineRoute({
  method: "get",
  path: "/v1/models",
  operationId: "listModels",
  tag: "Models",
  summary: "List models",
  description: "Models that at least one worker hosts now.",
  response: { description: "The models.", schema: modelListSchema },
  handler:
    ({ directory, workers }: ModelSource) =>
    () => {
      const data = directory.models().map((model) => modelObject(workers, model));
      return { object: "list" as const, data: data.filter(({ service }) => service.active_workers > 0) };
    },
});

export const getModelRoute = defineRoute({
  method: "get",
  path: "/v1/models/{model_id}",
  operationId: "getModel",
  tag: "Models",
  summary: "Get a model",
  request: { params: z.object({ model_id: pathParameter("Model id.", "qwen3-8b") }) },
  response: { description: "The model.", schema: modelSchema },
  errors: [{ code: "model_not_found", status: 404 }],
  handler:
    ({ directory, workers }: ModelSource) =>
    ({ params: { model_id: id = "" } }) => {
      const model = directory.model(id);
      const shown = model && modelObject(workers, model);
      if (shown === undefined || shown.service.active_workers === 0) {
        throw new ApiError("model_not_found", `There is no model ${quoted(id)}; GET /v1/models lists them.`, {
          status: 404,
          param: "model_id",
        });
      }
      return shown;
    },
});
