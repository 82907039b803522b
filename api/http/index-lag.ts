import type { RequestHandler } from "express";
import type { IndexWatch } from "../index/watch.ts";

/**
 * Says on answers that come from the index what they lack: `indexed-until` is there while the index is behind, with the time
 * up to which the chain is in it. Of what came later such an answer has only what this service did itself.
 */
export function tellIndexLag(index: Pick<IndexWatch, "indexedUntil">): RequestHandler {
  return (_request, response, next) => {
    const { indexedUntil } = index;
    if (indexedUntil !== null) response.setHeader("indexed-until", indexedUntil);
    next();
  };
}
