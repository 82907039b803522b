import OpenAI from "openai";
import type { Browser } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { Receiver } from "../../../support/receiver.ts";
import type { TestStack } from "../../../support/stack.ts";
import { giveGas } from "../../support/gas.ts";
import { Visitor } from "../../support/visitor.ts";

export const MODEL = "qwen3-1.7b";
/** What one short request to it costs. */
export const PRICE = 2;

/** Who goes the way: a wallet with gas, a browser, an endpoint for webhooks; and what the steps before left. */
export class Person {
  readonly account = privateKeyToAccount(generatePrivateKey());
  stack!: TestStack;
  browser!: Browser;
  visitor!: Visitor;
  receiver!: Receiver;
  apiKey = "";
  /** The first job, and its answer. */
  jobId = "";
  answer = "";

  async open(stack: TestStack, browser: Browser): Promise<void> {
    this.stack = stack;
    this.browser = browser;
    this.receiver = await Receiver.open();
    await giveGas(stack, this.account.address);
    this.visitor = await Visitor.open(browser, stack, this.account);
  }

  async close(): Promise<void> {
    await this.visitor?.close();
    this.receiver?.close();
  }

  /** Asks for a completion with the stock SDK; returns its text and its job. */
  async complete(key: string): Promise<{ text: string; jobId: string }> {
    const openai = new OpenAI({ baseURL: `${this.stack.info.base_url}/v1`, apiKey: key, maxRetries: 0 });
    const reply = await openai.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "Say hello." }],
    });
    return { text: reply.choices[0]?.message.content ?? "", jobId: reply.id.replace("chatcmpl-", "") };
  }

  /** The key that the page shows, once. */
  async shownKey(): Promise<string> {
    return (await this.visitor.page.getByTestId("api-key").textContent()) ?? "";
  }
}
