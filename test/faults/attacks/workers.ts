/** Attacks of workers, and on the model servers behind them. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { chat } from "../../support/api-client.ts";
import { event, PlayedWorker } from "../../worker/support/played-worker.ts";
import { BEFORE_TEXT, poisonOf } from "../../worker/support/poison.ts";
import { type Attack, of, send, type Target } from "./attack.ts";

let withholding: PlayedWorker;

const hostsOf = ({ workers }: Target["stack"], model: string): number =>
  workers.filter(({ models }) => models.includes(model)).length;

/** Takes every job, proves a hash of nothing on chain and hangs up. Whoever asks for the output gets nothing. */
async function withhold({ stack, withholder, model }: Target): Promise<void> {
  const worker = await PlayedWorker.start(stack, withholder);
  // One proof after the other: they are transactions of one account.
  let proven = Promise.resolve();
  worker.play(
    async (offer, response) => {
      const prove = async () => void (await worker.prove(offer, "nobody ever sees this"));
      if (offer.request !== undefined) proven = proven.then(prove).catch((error) => console.error(error.shortMessage));
      await proven;
      response.destroy();
    },
    { raw: true, once: true },
  );
  await worker.isOffered(model, hostsOf(stack, model));
  withholding = worker;
}

/** What each hostile worker sends after its acknowledgement. */
const HOSTILE: readonly (() => Iterable<string>)[] = [
  function* begunWithoutEnd() {
    for (;;) yield event("begun", {}).repeat(3_000);
  },
  function* textInTinyPieces() {
    for (let n = 0; n < 750; n++) yield event("delta", { content: "ab" }).repeat(2_000);
  },
  function* longError() {
    yield event("error", { code: "c".repeat(4_000_000), message: "m\r\n".repeat(800_000) });
  },
];

/** Plays the hostile workers, one of each kind: after such an answer a worker gets no job for some time. */
async function harm({ stack, hostile, hostileModel }: Target): Promise<void> {
  const workers = await Promise.all(hostile.map((number) => PlayedWorker.start(stack, number)));
  for (const [n, worker] of workers.entries()) {
    const kind = of(HOSTILE, n);
    worker.play(async (offer, response) => {
      response.write(await worker.acknowledgement(offer));
      // The gateway hangs up.
      await pipeline(Readable.from(kind()), response).catch(() => {});
    });
  }
  await workers[0]?.isOffered(hostileModel, hostsOf(stack, hostileModel));
}

/** The one that withholds is the last: what it holds stays held. */
export const ON_WORKERS: Record<string, Attack> = {
  poison: {
    what: "ten kinds of requests that make the model server fail, in turns",
    perSecond: 5,
    most: 20,
    on: "servedModel",
    shot: async (target, n) => {
      const kind = of(BEFORE_TEXT, n);
      const body = chat(target.servedModel, poisonOf(kind), { max_tokens: 12 });
      return (await send(target, n, { path: "/v1/chat/completions", body, apiKey: of(target.apiKeys, n) })).said;
    },
  },
  "hostile workers": {
    what: "one sends `begun` without end, one 3 MB of text in two-byte pieces, one an `error` of 8 MB",
    perSecond: 1,
    most: 20,
    prepare: harm,
    shot: async (target, n) => {
      const body = chat(target.hostileModel, "Hello", { max_tokens: 2_000, stream: n % 2 === 0 });
      return (await send(target, n, { path: "/v1/chat/completions", body, apiKey: of(target.apiKeys, n) })).said;
    },
  },
  "a worker that withholds": {
    what: "acknowledges, proves a hash on chain, hangs up",
    perSecond: 1,
    most: 1,
    prepare: withhold,
    shot: async () => {
      const taken = withholding.offers.filter(({ request: asked }) => asked !== undefined).length;
      withholding.offers.length = 0;
      return taken > 0 ? "took jobs" : "was offered nothing";
    },
  },
};
