/** A dishonest operator: what the client package says of each lie in a stock SDK, what it costs, and what the chain shows. */
import OpenAI from "openai";
import { numberToHex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { afterAll, describe, expect, it } from "vitest";
import { type Finding, type JobReport, verified } from "../../client/index.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { statusName } from "../../verify/story.ts";
import { eventually } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { Client, openStore } from "../support/client.ts";
import { sharedStack } from "../support/shared-fixtures.ts";
import { HostileOperator } from "./support/hostile-operator.ts";
import { MODEL } from "./support/hostile-stack.ts";
import { LIES, slug, type Told } from "./support/lies.ts";

const stack = await sharedStack("hostile");
const pool = openStore(stack);
const chain = chainReader(stack);
const operator = await HostileOperator.start(stack, Object.fromEntries(LIES.map((lie) => [slug(lie.name), lie])));
afterAll(async () => {
  operator.stop();
  await pool.end();
});

/** A new wallet, known to the operator. */
async function wallet(): Promise<Client> {
  const client = await Client.funded(stack, pool, 2_000);
  operator.wallets.set(client.apiKey, client.account.address);
  return client;
}

// The wallet whose credits are taken for another one's request.
await wallet();

/** Asks, and reads the answer to its end; what went wrong with that. */
async function ask(openai: OpenAI, { plain, maxTokens, reasons }: Told, prompt = "Say hello."): Promise<unknown> {
  const body = {
    model: MODEL,
    messages: [{ role: "user" as const, content: prompt }],
    ...(maxTokens && { max_tokens: maxTokens }),
    ...(reasons && { reasoning_effort: "low" as const }),
  };
  try {
    if (plain) await openai.chat.completions.create(body);
    else for await (const _ of await openai.chat.completions.create({ ...body, stream: true }));
    return null;
  } catch (error) {
    return error;
  }
}

const balance = async (client: Client): Promise<number> => {
  const { free, escrowed } = await chain.account(client.account.address);
  return free + escrowed;
};

describe("the client package", () => {
  it.concurrent.each(LIES)("tells $name, which costs $costs at most", async (lie) => {
    const client = await wallet();
    const authorizationKey = generatePrivateKey();
    if (lie.signed) await client.escrow("setAuthorizationKey", [privateKeyToAddress(authorizationKey)]);
    const findings: Finding[] = [];
    const reports: JobReport[] = [];
    const fetch = verified({
      rpcUrl: stack.info.rpc_url,
      escrow: operator.escrow,
      wallet: lie.address ? client.account.address : client.account,
      ...(lie.signed && { authorizationKey }),
      onFinding: (finding) => findings.push(finding),
      onJob: (report) => reports.push(report),
    });
    const openai = new OpenAI({ baseURL: operator.url(slug(lie.name)), apiKey: client.apiKey, maxRetries: 0, fetch });
    if (lie.twice) {
      expect(await ask(openai, lie, "Say something else.")).toBeNull();
      await fetch.checked();
      expect(findings).toEqual([]);
      expect(reports).toMatchObject([{ holds: true, creditsCharged: 8 }]);
    }
    const before = await balance(client);
    await ask(openai, lie);
    await fetch.checked();
    const ids = () => findings.map(({ id }) => id);
    await eventually(
      async () => ids(),
      (found) => lie.says.every((id) => found.includes(id)),
      60_000,
    );
    for (const { says } of findings) expect(says).toMatch(/\w.{10,}/);

    const jobId = reports.at(-1)?.jobId ?? findings.find((finding) => finding.jobId !== null)?.jobId;
    const onChain = async () => {
      const status = jobId == null ? 0 : (await chain.job(jobId)).status;
      return status === 0 ? null : statusName(status);
    };
    await eventually(onChain, (status) => status === lie.chain);
    const lost = before - (await balance(client));
    expect(lost, JSON.stringify(findings, null, 1)).toBeLessThanOrEqual(lie.costs);
  });
});

describe("a dispute key, of a wallet that signs nothing here", () => {
  it.concurrent.each([
    ["joins the service's dispute", "another text in a plain reply", "dispute.joined", { joined: true, byKey: false }],
    ["disputes where the service does not", "no dispute: it is too late, it says", "dispute.opened", { byKey: true }],
  ] as const)("%s", async (_what, name, id, dispute) => {
    const client = await wallet();
    const disputeKey = generatePrivateKey();
    await client.escrow("setDisputeKey", [privateKeyToAddress(disputeKey), 1]);
    await chain.client.request({
      method: "anvil_setBalance",
      params: [privateKeyToAddress(disputeKey), numberToHex(10n ** 18n)],
    } as never);
    const findings: Finding[] = [];
    const fetch = verified({
      rpcUrl: stack.info.rpc_url,
      escrow: operator.escrow,
      wallet: client.account.address,
      disputeKey,
      onFinding: (finding) => findings.push(finding),
    });
    const openai = new OpenAI({ baseURL: operator.url(slug(name)), apiKey: client.apiKey, maxRetries: 0, fetch });
    const lie = LIES.find((one) => one.name === name) as Told;
    await ask(openai, lie);
    await fetch.checked();
    const told = await eventually(
      async () => findings.find((finding) => finding.id === id),
      (finding) => finding !== undefined,
      60_000,
    );
    const args = [fromApiJobId(told?.jobId ?? "")] as never;
    const call = { address: chain.escrow, abi: inferenceEscrowAbi, functionName: "disputeOf", args } as const;
    expect(await chain.client.readContract(call), JSON.stringify(findings)).toMatchObject(dispute);
  });
});
