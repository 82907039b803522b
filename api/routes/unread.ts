/** Answers that wait in this process until their clients read them. */
import type { RequestHandler, Response } from "express";
import { ownerOf } from "./request.ts";

/** Bytes of one answer that may wait without being counted. Nearly every answer is given to the operating system at once. */
const UNCOUNTED = 64 * 1024;

/**
 * Bounds the bytes of all answers that wait for their clients. Beyond `most` the client that holds most of them, a wallet or an address, loses the
 * connection of its longest one: a client that asks and does not read must not use up the memory. `onClosed` is called for each.
 */
export function boundUnread(most: number, onClosed: (owner: string, bytes: number) => void): RequestHandler {
  /** By owner, the bytes of each answer. */
  const unread = new Map<string, Map<Response, number>>();
  let total = 0;

  const count = (owner: string, response: Response, bytes: number): void => {
    const own = unread.get(owner) ?? new Map<Response, number>();
    total += bytes - (own.get(response) ?? 0);
    if (bytes > 0) unread.set(owner, own.set(response, bytes));
    else if (own.delete(response) && own.size === 0) unread.delete(owner);
  };

  const closeLongest = (): void => {
    const sums = [...unread].map(([owner, own]) => ({ owner, own, sum: [...own.values()].reduce((a, b) => a + b, 0) }));
    const { owner, own } = sums.reduce((a, b) => (b.sum > a.sum ? b : a));
    const [response, bytes] = [...own].reduce((a, b) => (b[1] > a[1] ? b : a));
    count(owner, response, 0);
    response.destroy();
    onClosed(owner, bytes);
  };

  return (request, response, next) => {
    /** The client that the unread bytes are counted for; undefined until the response has to wait for its reader. */
    let owner: string | undefined;
    const look = (): void => {
      const waiting = response.destroyed ? 0 : response.writableLength;
      if (owner === undefined && waiting <= UNCOUNTED) return;
      owner ??= ownerOf(request);
      count(owner, response, waiting > UNCOUNTED ? waiting : 0);
      while (total > most) closeLongest();
    };
    const { write, end } = response;
    response.write = (...parts: unknown[]) => {
      const isTaken = Reflect.apply(write, response, parts) as boolean;
      look();
      return isTaken;
    };
    response.end = (...parts: unknown[]) => {
      Reflect.apply(end, response, parts);
      look();
      return response;
    };
    response.on("drain", look).on("close", () => owner !== undefined && count(owner, response, 0));
    next();
  };
}
