import { z } from "zod";

/** Body of `GET {endpoint}/healthz`: what a worker says of itself. */
export const healthSchema = z.object({
  /** "draining": it finishes the jobs it has, and takes no others. */
  status: z.enum(["ok", "draining"]),
  /** Its signing key's address: an endpoint that changed hands answers as somebody else. */
  worker: z.string().max(100),
  /** Catalog ids of what it hosts. */
  models: z.array(z.string()),
  /** Jobs that run. */
  in_flight: z.number().int().nonnegative(),
  /** Jobs that wait for one of those to end. */
  queued: z.number().int().nonnegative(),
  /** Jobs it runs at once. */
  capacity: z.number().int().positive(),
  /** Answers that wait for the end of their jobs on the chain. */
  unsettled: z.number().int().nonnegative(),
});
export type Health = z.infer<typeof healthSchema>;

/**
 * As much of it as a gateway needs. Workers are other people's, of other versions: what is not needed may be missing or wrong, and a status
 * of which a gateway has never heard is one that takes no jobs.
 */
export const probeSchema = healthSchema.pick({ worker: true }).extend({
  status: z.string().max(100),
  capacity: healthSchema.shape.capacity.optional().catch(undefined),
});
export type ProbedHealth = z.infer<typeof probeSchema>;
