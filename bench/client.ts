/**
 * Section `client`: the processor time that the client package adds to the stock OpenAI SDK's. Each kind of client is a process of its own, and
 * they take turns. A round ends when the last job is checked: reads of the chain count as well.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import OpenAI from "openai";
import { type Address, createPublicClient, createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { verified } from "../client/index.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { progress, type Section } from "./report.ts";
import { type Account, MODEL, type System } from "./system.ts";

const KINDS = ["stock", "verified", "verified and signed"] as const;
type Kind = (typeof KINDS)[number];
type Order = { requests: number; stream: boolean };
/** At once; more would measure the service's waiting. */
const CONCURRENCY = 4;
const WARM_UP = 200;

type Setting = {
  kind: Kind;
  baseUrl: string;
  apiKey: string;
  rpcUrl: string;
  escrow: Address;
  wallet: Address;
  key: Hex;
};

export async function clientCost(
  { stack, accounts }: System,
  { requests, rounds }: { requests: number; rounds: number },
): Promise<Section> {
  const [trusting, signing] = accounts as [Account, Account];
  const key = generatePrivateKey();
  const escrow = stack.info.contracts["InferenceEscrow"] as Address;
  const transport = http(stack.info.rpc_url);
  const hash = await createWalletClient({ account: signing.owner, transport }).writeContract({
    address: escrow,
    abi: inferenceEscrowAbi,
    functionName: "setAuthorizationKey",
    args: [privateKeyToAddress(key)],
    chain: null,
  });
  await receiptOf(createPublicClient({ transport }), hash);
  const common = { baseUrl: `${stack.info.base_url}/v1`, rpcUrl: stack.info.rpc_url, escrow, key };
  const clients = KINDS.map((kind) => {
    const { apiKey, owner } = kind === "verified and signed" ? signing : trusting;
    const setting: Setting = { ...common, kind, apiKey, wallet: owner.address };
    return { kind, child: fork(import.meta.filename, [JSON.stringify(setting)]), used: { plain: 0, streamed: 0 } };
  });
  try {
    const run = async ({ child }: (typeof clients)[number], order: Order): Promise<number> => {
      child.send(order);
      const [milliseconds] = await once(child, "message");
      return milliseconds;
    };
    for (const client of clients) {
      for (const stream of [false, true]) await run(client, { requests: WARM_UP, stream });
    }
    for (let round = 1; round <= rounds; round++) {
      progress(`the client package, round ${round} of ${rounds}`);
      for (const client of clients) {
        client.used.plain += await run(client, { requests, stream: false });
        client.used.streamed += await run(client, { requests, stream: true });
      }
    }
  } finally {
    for (const { child } of clients) child.disconnect();
  }
  const [stock] = clients as [(typeof clients)[number]];
  const each = (milliseconds: number): number => milliseconds / (requests * rounds);
  const rows = clients.map(({ kind, used }) => ({
    client: kind,
    plain: each(used.plain),
    "plain, added": each(used.plain - stock.used.plain),
    streamed: each(used.streamed),
    "streamed, added": each(used.streamed - stock.used.streamed),
  }));
  return { title: "Processor time of the client a reply, ms", rows };
}

/** A client: takes orders from its parent, and says what processor time each took. */
function serve({ kind, baseUrl: baseURL, apiKey, rpcUrl, escrow, wallet, key }: Setting): void {
  const checking =
    kind === "stock"
      ? null
      : verified({
          rpcUrl,
          escrow,
          wallet,
          ...(kind === "verified and signed" && { authorizationKey: key }),
        });
  const openai = new OpenAI({ baseURL, apiKey, ...(checking && { fetch: checking }) });
  const one = async (stream: boolean): Promise<void> => {
    const asked = { model: MODEL, messages: [{ role: "user" as const, content: "Count to twenty." }], max_tokens: 100 };
    if (!stream) return void (await openai.chat.completions.create(asked));
    for await (const _ of await openai.chat.completions.create({ ...asked, stream })) {
    }
  };
  process.on("message", async ({ requests, stream }: Order) => {
    const before = process.cpuUsage();
    let left = requests;
    const work = async (): Promise<void> => {
      while (left-- > 0) await one(stream);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    await checking?.checked();
    const { user, system } = process.cpuUsage(before);
    process.send?.((user + system) / 1_000);
  });
}

if (process.argv[1] === import.meta.filename) serve(JSON.parse(process.argv[2] as string));
