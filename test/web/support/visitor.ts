import type { Browser, BrowserContext, Page } from "playwright-core";
import type { PrivateKeyAccount } from "viem";
import type { KnownStack } from "../../support/api-client.ts";
import { findingsOf, flawsOf } from "./flaws.ts";
import { TestWallet } from "./wallet.ts";

const WAIT_MS = 60_000;

export type Look = { colorScheme: "light" | "dark"; width: number };

/** A person with a browser and a wallet in it. */
export class Visitor {
  readonly stack: KnownStack;
  readonly context: BrowserContext;
  readonly page: Page;
  readonly wallet: TestWallet;
  /** What the page complained about: a content security policy that bites shows up here. */
  readonly complaints: string[] = [];

  private constructor(stack: KnownStack, context: BrowserContext, page: Page, wallet: TestWallet) {
    this.stack = stack;
    this.context = context;
    this.page = page;
    this.wallet = wallet;
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") this.complaints.push(message.text());
    });
  }

  static async open(
    browser: Browser,
    stack: KnownStack,
    account: PrivateKeyAccount,
    { colorScheme, width }: Look = { colorScheme: "light", width: 1280 },
  ): Promise<Visitor> {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width, height: 900 },
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(WAIT_MS);
    const wallet = new TestWallet(stack, account);
    await wallet.install(context);
    return new Visitor(stack, context, await context.newPage(), wallet);
  }

  /** Goes to a page of the application. */
  async go(path: string): Promise<void> {
    await this.page.goto(`${this.stack.info.app_url}${path}`);
  }

  /** Presses a button by its name. */
  async press(name: string | RegExp): Promise<void> {
    await this.#orSay(this.page.getByRole("button", { name, exact: typeof name === "string" }).click());
  }

  /** Waits until a text is to be seen. */
  async sees(text: string | RegExp): Promise<void> {
    await this.#orSay(this.page.getByText(text).first().waitFor());
  }

  /** What is missing on a page tells little: the error has what the page shows instead. */
  async #orSay(step: Promise<void>): Promise<void> {
    try {
      await step;
    } catch (error) {
      const shown = await this.page.locator("main").textContent();
      throw new Error(`${String(error)}\n${this.page.url()} shows:\n${shown}`, { cause: error });
    }
  }

  /** Takes back what an earlier test did to the window and its wallet. A session stays; a new window takes a second of processor time. */
  async reset(): Promise<void> {
    this.wallet.reset();
    this.complaints.length = 0;
    await this.context.setOffline(false);
    await this.page.unrouteAll({ behavior: "ignoreErrors" });
  }

  async signIn(): Promise<void> {
    await this.go("/");
    await this.press(/^Sign in with/);
    await this.page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  /** Mints test tokens and deposits what the page proposes; what the wallet was asked for afterwards is of the deposit alone. */
  async buyFirstCredits(): Promise<void> {
    await this.page.getByRole("link", { name: "Fund your account" }).click();
    await this.press(/^Get .* test USDG$/);
    await this.sees("Test tokens are in your wallet");
    this.wallet.asked.length = 0;
    await this.press("Deposit");
    await this.sees("Credits added");
  }

  /** A number among a page's figures, by its label. */
  async figure(label: string): Promise<string | null> {
    return await this.page.locator(".figure", { hasText: label }).locator(".number").textContent();
  }

  /** Findings of axe on the page as it is, serious and critical ones. */
  findings(): Promise<string[]> {
    return findingsOf(this.page);
  }

  /** Findings by day and by night, and what hangs over the edge of screen, tablet and phone. */
  flaws(): Promise<string[]> {
    return flawsOf(this.page);
  }

  /** On how many sheets the page is printed. */
  async printedPages(): Promise<Record<"A4" | "Letter", number>> {
    const sheets = async (format: string): Promise<number> => {
      const pdf = await this.page.pdf({ format });
      return [...pdf.toString("latin1").matchAll(/\/Type\s*\/Page\b(?!s)/g)].length;
    };
    return { A4: await sheets("A4"), Letter: await sheets("Letter") };
  }

  close(): Promise<void> {
    return this.context.close();
  }
}
