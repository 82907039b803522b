/** Attacks on the web application and what only it offers: sign-in, webhooks' logs, the explorer, exports. */
import { serializeErc6492Signature } from "viem";
import { answer, Receiver } from "../../support/receiver.ts";
import { type Attack, of, sendWeb, signIn, type Target } from "./attack.ts";

/** Path of one test delivery, and of its webhook. */
type Tested = { delivery: string; webhook: string };
let tested: Tested;
let receiver: Receiver;

/** A webhook of the first wallet, whose receiver answers as much as the log keeps, and a test of it. */
async function sendTest(target: Target): Promise<Tested> {
  receiver = await Receiver.open();
  const url = receiver.url("/tested", answer(200, "\u0001".repeat(1_024)));
  const cookie = of(target.cookies, 0);
  const created = await sendWeb(target, 0, { path: "/webhooks", body: { url, events: ["job.failed"] }, cookie });
  const webhook = `/webhooks/${JSON.parse(created.text).id}`;
  const test = await sendWeb(target, 0, { path: `${webhook}/test`, body: {}, cookie });
  return { delivery: `/deliveries/${JSON.parse(test.text).id}`, webhook };
}

export const ON_WEB: Record<string, Attack> = {
  "looping sign-in": {
    what: "ERC-6492 signatures whose factory loops, a new nonce each",
    perSecond: 20,
    most: 40,
    shot: async (target, n) => {
      // An address without code: the factory is asked to make the wallet.
      const signature = serializeErc6492Signature({ address: target.looper, data: "0x", signature: "0x00" });
      return (await signIn(target, n, () => signature)).said;
    },
  },
  "one test for ever": {
    what: "a test delivery is replayed, its attempts are read, another test is sent, in turns",
    perSecond: 10,
    most: 20,
    prepare: async (target) => {
      tested = await sendTest(target);
    },
    shot: async (target, n) => {
      const { delivery, webhook } = tested;
      const asked = [
        { path: `${delivery}/replay`, body: {} },
        { path: delivery },
        { path: `${webhook}/test`, body: {} },
      ];
      return (await sendWeb(target, n, { ...of(asked, n), cookie: of(target.cookies, 0) })).said;
    },
  },
  "webhooks of free wallets": {
    what: "a wallet, its webhook at a silent endpoint, and a test of it",
    perSecond: 40,
    most: 80,
    prepare: async () => {
      receiver = await Receiver.open();
    },
    shot: async (target, n) => {
      const url = receiver.url("/silent", () => {});
      const session = await signIn(target, n, (account, message) => account.signMessage({ message }));
      const cookie = String(session.headers["set-cookie"] ?? "").split(";", 1)[0];
      if (!cookie) return session.said;
      const created = await sendWeb(target, n, {
        path: "/webhooks",
        body: { url, events: ["worker.registered"] },
        cookie,
      });
      const { id } = JSON.parse(created.text);
      if (id === undefined) return created.said;
      return (await sendWeb(target, n, { path: `/webhooks/${id}/test`, body: {}, cookie })).said;
    },
  },
  "megabytes of logs": {
    what: "the explorer reads a transaction that logs a megabyte",
    perSecond: 20,
    most: 40,
    shot: async (target, n) => (await sendWeb(target, n, { path: `/tx/${target.loudTransaction}` })).said,
  },
  exports: {
    what: "`jobs.csv` of six wallets, 16 at once",
    perSecond: 100,
    most: 16,
    shot: async (target, n) => (await sendWeb(target, n, { path: "/jobs.csv", cookie: of(target.cookies, n) })).said,
  },
};
