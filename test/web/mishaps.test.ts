/** What goes wrong between a person, a wallet, a chain and the service: each time the page says what, and how to go on. */
import { setTimeout as sleep } from "node:timers/promises";
import { createWalletClient, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { provideCredits } from "../../scripts/dev/wallets.ts";
import { chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { richAccount } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { it as base } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";
import { TestWallet } from "./support/wallet.ts";

const account = privateKeyToAccount(generatePrivateKey());
/** `visitor` is signed in. `other` is not: its wallet has no gas. */
const it = base
  .extend("visitor", { scope: "file" }, async ({ open }) => {
    const visitor = await open(account);
    await visitor.signIn();
    return visitor;
  })
  .extend("other", { scope: "file" }, ({ open }) => open(privateKeyToAccount(generatePrivateKey())));

describe("what goes wrong with", () => {
  it.beforeAll(async ({ stack }) => {
    await provideCredits(stack.info, { funder: await richAccount(stack), owner: account, credits: 500 });
  });
  it.beforeEach(async ({ visitor, other }) => {
    for (const one of [visitor, other]) await one.reset();
  });

  const withdraw = async (visitor: Visitor, credits: number) => {
    await visitor.page.getByLabel("Credits to withdraw").fill(String(credits));
    await visitor.press("Withdraw");
  };
  /** Opens the page and waits until it knows the wallet: it does not hear what the wallet tells before. */
  const openConnected = async (visitor: Visitor) => {
    await visitor.go("/fund");
    await visitor.page.getByLabel("Credits to withdraw").fill("1");
    await visitor.page.getByRole("button", { name: "Withdraw", exact: true, disabled: false }).waitFor();
  };

  describe("a wallet", () => {
    it("on another chain is asked to switch; if it does not, nothing is sent", async ({ visitor, stack }) => {
      await openConnected(visitor);
      await visitor.wallet.switchTo(1);
      await visitor.sees("Your wallet is on another chain");
      visitor.wallet.refuses.add("wallet_switchEthereumChain");
      await withdraw(visitor, 1);
      await visitor.sees("Declined in the wallet");
      expect(visitor.wallet.signed()).toEqual([]);
      await visitor.press(/^Switch to/);
      await visitor.page.getByText("Your wallet is on another chain").waitFor({ state: "detached" });
      expect(visitor.wallet.chainId).toBe(stack.info.chain_id);
    });

    it("whose owner refuses a transaction has sent none", async ({ visitor }) => {
      await visitor.go("/fund");
      visitor.wallet.refuses.add("eth_sendTransaction");
      await withdraw(visitor, 1);
      await visitor.sees("Nothing was signed or sent.");
    });

    it("with another account selected is told so", async ({ visitor }) => {
      await openConnected(visitor);
      await visitor.wallet.selectAccount(privateKeyToAccount(generatePrivateKey()));
      await visitor.sees("Another account is selected in your wallet");
    });

    it("that does not know the chain, in its own words, is asked to add it", async ({ visitor, stack }) => {
      await openConnected(visitor);
      await visitor.wallet.switchTo(1);
      await visitor.sees("Your wallet is on another chain");
      visitor.wallet.throws.set("wallet_switchEthereumChain", { message: "Die Kette wird nicht unterstützt" });
      await visitor.press(/^Switch to/);
      await visitor.page.getByText("Your wallet is on another chain").waitFor({ state: "detached" });
      const added = visitor.wallet.asked.find(({ method }) => method === "wallet_addEthereumChain");
      expect(added?.params).toMatchObject([{ chainId: `0x${stack.info.chain_id.toString(16)}` }]);
    });

    it.for([
      ["a bare string", "User denied message signature"],
      ["another code and words", { code: -32603, message: "Transaction was rejected by user" }],
    ] as const)("whose owner declines with %s has declined", async ([, thrown], { visitor }) => {
      await openConnected(visitor);
      visitor.wallet.throws.set("eth_sendTransaction", thrown);
      await withdraw(visitor, 1);
      await visitor.sees("Nothing was signed or sent.");
    });

    it("that throws a bare string is quoted", async ({ visitor }) => {
      await openConnected(visitor);
      visitor.wallet.throws.set("eth_sendTransaction", "The vault is closed today");
      await withdraw(visitor, 1);
      await visitor.sees("The vault is closed today");
    });

    it.for([
      ["and announces itself", false],
      ["and tells nobody", true],
    ] as const)("that comes late, %s, is found", async ([, silent], { stack, browser }) => {
      const context = await browser.newContext();
      await new TestWallet(stack, account).install(context, { late: true, silent });
      const page = await context.newPage();
      await page.route("**/app/api/demo", (route) => route.fulfill({ json: { api_key: null, private_key: null } }));
      await page.goto(stack.info.app_url);
      await page.getByText("No wallet found in this browser").waitFor();
      await page.evaluate("window.__appear()");
      await page.getByRole("button", { name: silent ? "Sign in with wallet" : "Sign in with Test Wallet" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      await context.close();
    });

    it("is missed where there is none, and no demo account to go on with", async ({ stack, browser }) => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.route("**/app/api/demo", (route) => route.fulfill({ json: { api_key: null, private_key: null } }));
      await page.goto(stack.info.app_url);
      await page.getByText("No wallet found in this browser").waitFor();
      await context.close();
    });
  });

  describe("the visitor's node", () => {
    it("that hangs is told after ten seconds, and how old the page is", async ({ visitor, stack }) => {
      await visitor.go("/governance");
      await visitor.sees("Rules in force");
      await visitor.page.route(`${stack.info.rpc_url}**`, () => {});
      // One comes back to the page: it asks the node anew.
      const comeBack = () => visitor.page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
      await comeBack();
      await visitor.sees(/has not answered for 10 seconds. What you see is from /);
      await visitor.sees("Rules in force");
      await visitor.page.unrouteAll({ behavior: "ignoreErrors" });
      await comeBack();
      await visitor.page.getByText("The node does not answer").waitFor({ state: "detached" });
    });
  });

  describe("a transaction", () => {
    it("that was reverted is shown with its method, the contract's reason and the fee", async ({ visitor, stack }) => {
      const chain = chainReader(stack);
      const wallet = createWalletClient({ account, transport: http(stack.info.rpc_url) });
      const hash = await wallet.writeContract({
        address: chain.escrow,
        abi: inferenceEscrowAbi,
        functionName: "withdraw",
        args: [99_999, account.address],
        gas: 200_000n,
        chain: null,
      });
      await chain.client.waitForTransactionReceipt({ hash });
      await visitor.go(`/tx/${hash}`);
      await visitor.sees(/99,999 credits were asked for/);
      await visitor.page.locator(".arguments code", { hasText: "withdraw" }).waitFor();
      expect(await visitor.page.locator(".fact", { hasText: "Fee" }).textContent()).toMatch(/0\.\d+/);
    });

    it("that the contract would refuse is never sent, and the reason is told", async ({ visitor, stack }) => {
      await visitor.go("/fund");
      await visitor.page.getByLabel("Credits to withdraw").fill("1");
      await visitor.page.getByLabel("To", { exact: true }).fill(stack.info.contracts.InferenceEscrow as string);
      await visitor.press("Withdraw");
      await visitor.sees(/cannot receive a withdrawal: tokens sent to the contracts would be lost/);
      expect(visitor.wallet.signed()).toEqual([]);
    });

    it("that reverts when it is mined is told with the contract's reason", async ({ visitor, stack }) => {
      const chain = chainReader(stack);
      await visitor.go("/fund");
      // The credits leave on another way between the wallet's question and its answer.
      visitor.wallet.beforeSending = async () => {
        const wallet = createWalletClient({ account, transport: http(stack.info.rpc_url) });
        const hash = await wallet.writeContract({
          address: chain.escrow,
          abi: inferenceEscrowAbi,
          functionName: "withdraw",
          args: [450, account.address],
          chain: null,
        });
        await mined(chain.client, hash);
      };
      await withdraw(visitor, 100);
      await visitor.sees("The contract refused");
      await visitor.sees(/Only 50 credits are free; 100 credits were asked for/);
    });
  });

  describe("the keyboard's focus", () => {
    it("goes back to where a dialog was opened", async ({ visitor }) => {
      await visitor.go("/settings");
      await visitor.press(/^(Create key|Regenerate)$/);
      await visitor.page.getByRole("button", { name: "Revoke" }).click();
      await visitor.page.keyboard.press("Escape");
      await visitor.page.locator("button:focus", { hasText: "Revoke" }).waitFor();
    });
  });

  describe("a session", () => {
    it("is opened once the owner signs; without gas the page says so", async ({ other, stack }) => {
      await other.context.clearCookies();
      await other.go("/fund");
      other.wallet.refuses.add("personal_sign");
      await other.press(/^Sign in with/);
      await other.sees("Declined in the wallet");
      await other.press(/^Sign in with/);
      // A new wallet gets gas with its test tokens.
      await other.press(/^Get .* test USDG$/);
      await other.sees("Test tokens are in your wallet");
      await rpc(stack.info.rpc_url, "anvil_setBalance", [other.wallet.account.address, "0x0"]);
      await other.press("Deposit");
      await other.sees("Not enough for gas");
    });

    it("that ends while one works leads back to signing in, and says why", async ({ other, stack }) => {
      await other.context.clearCookies();
      await other.signIn();
      await other.go("/settings");
      await other.page.getByRole("button", { name: "Create key" }).waitFor();
      // What the page reads by itself would notice it first, and take the buttons away.
      const reads = (url: URL) => url.pathname.startsWith("/app/api/");
      await other.page.route(reads, (route) => (route.request().method() === "GET" ? route.abort() : route.continue()));
      const database = openStore(stack);
      const wallet = other.wallet.account.address.toLowerCase();
      await database.query("UPDATE web_session SET expires_at = now() - interval '1 second' WHERE wallet = $1", [
        wallet,
      ]);
      await database.end();
      await other.press("Create key");
      await other.sees("Your session has ended");
      await other.page.unroute(reads);
      await other.press(/^Sign in with/);
      await other.sees("Low-credit warning");
    });

    it("is not opened with a nonce that was used before", async ({ other }) => {
      let nonce: unknown;
      await other.page.route("**/app/api/nonce", async (route) => {
        const response = await route.fetch();
        nonce ??= await response.json();
        await route.fulfill({ json: nonce });
      });
      await other.context.clearCookies();
      await other.signIn();
      await other.press("Sign out");
      await other.press(/^Sign in with/);
      await other.sees("Sign-in request too old");
      await other.sees(/used before/);
    });

    it("is not opened at another address than the service's own", async ({ other, stack }) => {
      await other.page.goto(stack.info.app_url.replace("127.0.0.1", "localhost"));
      await other.sees("Another address than the service's own");
      await other.press(/^Sign in with/);
      await other.sees("Wrong address");
    });
  });

  describe("the service", () => {
    it("out of reach is told, and the page goes on when it is back", async ({ visitor }) => {
      await visitor.go("/");
      await visitor.page.locator(".figure .number").first().waitFor();
      await visitor.page.route("**/app/api/**", (route) => route.abort());
      // The old balance stays, and the page says from when it is.
      await visitor.sees(/What you see is from .*\d/);
      expect(await visitor.page.locator(".figure .number").count()).toBeGreaterThan(0);
      await visitor.page.getByRole("link", { name: "Jobs" }).first().click();
      await visitor.sees("This could not be read");
      expect(await visitor.page.getByRole("alert").count()).toBe(1);
      await visitor.page.unroute("**/app/api/**");
      await visitor.sees("No jobs yet");
      await visitor.page.getByRole("alert").waitFor({ state: "detached" });
    });

    it("that hangs is told after ten seconds, and the page goes on by itself", async ({ visitor }) => {
      const held: (() => void)[] = [];
      await visitor.page.route("**/app/api/models", async (route) => {
        await new Promise<void>((resolve) => held.push(resolve));
        await route.continue().catch(() => {}); // the page has given this request up
      });
      await visitor.go("/models");
      await visitor.sees("The service has not answered for 10 seconds.");
      await visitor.page.unroute("**/app/api/models");
      for (const release of held) release();
      await visitor.page.getByRole("row", { name: /qwen3/ }).first().waitFor();
      await visitor.page.getByRole("alert").waitFor({ state: "detached" });
    });

    it("is missed by a device that is offline: the page says so, and goes on by itself", async ({ open }) => {
      // A window of its own, which has never loaded a page's code.
      const visitor = await open(account);
      await visitor.go("/models");
      await visitor.page.getByRole("row", { name: /qwen3/ }).first().waitFor();
      await visitor.context.setOffline(true);
      await visitor.sees(/You are offline.*What you see is from/);
      // A page whose code was never loaded does not take the others with it.
      await visitor.page.getByRole("link", { name: "Explorer" }).first().click();
      await visitor.sees("You are offline: it could not be loaded.");
      await visitor.page.getByRole("link", { name: "Models" }).first().click();
      await visitor.sees(/You are offline.*What you see is from/);
      expect(await visitor.page.getByRole("row", { name: /qwen3/ }).count()).toBeGreaterThan(0);
      await visitor.context.setOffline(false);
      await visitor.page.getByText("You are offline").waitFor({ state: "detached" });
      expect(await visitor.page.getByRole("row", { name: /qwen3/ }).count()).toBeGreaterThan(0);
      await visitor.close();
    });

    it("is told at once to whoever changes something on a device that is offline", async ({ visitor }) => {
      await visitor.go("/settings");
      const card = visitor.page.locator(".card", { hasText: "Low-credit warning" });
      await card.getByLabel("Warn below").fill("250");
      await visitor.context.setOffline(true);
      await visitor.press("Save");
      await card.getByText(/You are offline. Connect and/).waitFor();
      expect(await card.getByRole("button", { name: "Save" }).isEnabled()).toBe(true);
    });

    it("refuses a request because too many came: the page asks again by itself", async ({ visitor }) => {
      let refused = 0;
      await visitor.page.route("**/app/api/session", async (route) => {
        refused += 1;
        if (refused > 1) return await route.continue();
        const error = { code: "rate_limited", message: "More than 50 requests a second from one address; slow down." };
        await route.fulfill({ status: 429, json: { error } });
      });
      await visitor.go("/jobs");
      await visitor.sees("No jobs yet");
      expect(refused).toBe(2);
    });

    it("sends a page's code late, and the page stays alive meanwhile", async ({ visitor }) => {
      await visitor.page.route("**/assets/fund-*.js", async (route) => {
        await sleep(1_000);
        await route.continue();
      });
      await visitor.go("/fund");
      await visitor.page.getByLabel("Credits to withdraw").waitFor();
    });

    it("has no such page, transaction or job, but the search", async ({ visitor, stack }) => {
      const nowhere = await visitor.page.goto(`${stack.info.app_url}/nowhere`);
      expect(nowhere?.status()).toBe(404);
      await visitor.sees("No such page");
      await visitor.page
        .locator("main")
        .getByRole("button", { name: /^Job, transaction, address/ })
        .click();
      await visitor.page.getByRole("dialog").getByRole("combobox").fill("qwen");
      await visitor.page.getByRole("option").first().waitFor();
      await visitor.page.keyboard.press("Escape");
      await visitor.page.getByRole("link", { name: "go to the front page" }).click();
      await visitor.sees("The charge, live");
      await visitor.page.setViewportSize({ width: 390, height: 844 });
      const over = () => visitor.page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
      await visitor.go(`/tx/0x${"0".repeat(64)}`);
      await visitor.sees(/does not know a transaction/);
      await visitor.sees("Not found");
      await visitor.page
        .locator("main")
        .getByRole("button", { name: /^Job, transaction, address/ })
        .waitFor();
      expect(await over()).toBeLessThanOrEqual(0);
      await visitor.go(`/jobs/job_${"0".repeat(32)}`);
      await visitor.sees(/There is no job/);
      expect(await over()).toBeLessThanOrEqual(0);
    });
  });
});
