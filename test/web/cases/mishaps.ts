/** What goes wrong between a person, a wallet, a chain and the service: each time the page says what, and how to go on. */
import pg from "pg";
import type { Browser } from "playwright-core";
import { createPublicClient, createWalletClient, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { DEPLOYER_KEY } from "../../../scripts/local-stack/accounts.ts";
import { provideCredits } from "../../../scripts/local-stack/funding.ts";
import { mined } from "../../support/mined.ts";
import type { TestStack } from "../../support/stack.ts";
import { Visitor } from "../support/visitor.ts";

export function mishapTests(given: () => { stack: TestStack; browser: Browser }): void {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: TestStack;
  let browser: Browser;
  let visitor: Visitor;

  beforeAll(async () => {
    ({ stack, browser } = given());
    const funder = privateKeyToAccount(DEPLOYER_KEY);
    await provideCredits(stack.info, { funder, owner: account, credits: 500 });
  });
  beforeEach(async () => {
    visitor = await Visitor.open(browser, stack, account);
  });
  afterEach(() => visitor?.close());

  const withdraw = async (credits: number) => {
    await visitor.page.getByLabel("Credits to withdraw").fill(String(credits));
    await visitor.press("Withdraw");
  };

  describe("a wallet", () => {
    it("on another chain is asked to switch, and then works", async () => {
      await visitor.signIn();
      await visitor.wallet.switchTo(1);
      await visitor.sees("Your wallet is on another chain");
      await visitor.press(/^Switch to/);
      await visitor.page.getByText("Your wallet is on another chain").waitFor({ state: "detached" });
      expect(visitor.wallet.chainId).toBe(stack.info.chain_id);
    });

    it("that does not switch is told that nothing was sent", async () => {
      await visitor.signIn();
      await visitor.go("/fund");
      await visitor.wallet.switchTo(1);
      visitor.wallet.refuses.add("wallet_switchEthereumChain");
      await withdraw(1);
      await visitor.sees("Declined in the wallet");
      expect(visitor.wallet.signed()).toEqual(["personal_sign"]);
    });

    it("whose owner refuses to sign in stays outside, and can try again", async () => {
      visitor.wallet.refuses.add("personal_sign");
      await visitor.go("/");
      await visitor.press(/^Sign in with/);
      await visitor.sees("Declined in the wallet");
      await visitor.press(/^Sign in with/);
      await visitor.page.getByRole("button", { name: "Sign out" }).waitFor();
    });

    it("whose owner refuses a transaction has sent none", async () => {
      await visitor.signIn();
      await visitor.go("/fund");
      visitor.wallet.refuses.add("eth_sendTransaction");
      await withdraw(1);
      await visitor.sees("Nothing was signed or sent.");
    });

    it("with another account selected is told so", async () => {
      await visitor.signIn();
      await visitor.wallet.selectAccount(privateKeyToAccount(generatePrivateKey()));
      await visitor.sees("Another account is selected in your wallet");
    });

    it("is missed where there is none", async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(stack.info.app_url);
      await page.getByText("No wallet found in this browser").waitFor();
      await context.close();
    });
  });

  describe("a transaction", () => {
    it("that the contract would refuse is never sent, and the reason is told", async () => {
      await visitor.signIn();
      await visitor.go("/fund");
      await visitor.page.getByLabel("Credits to withdraw").fill("1");
      await visitor.page.getByLabel("To", { exact: true }).fill(stack.info.contracts.InferenceEscrow as string);
      await visitor.press("Withdraw");
      await visitor.sees(/cannot receive a withdrawal: tokens sent to the contracts would be lost/);
      expect(visitor.wallet.signed()).toEqual(["personal_sign"]);
    });

    it("that reverts when it is mined is told with the contract's reason", async () => {
      await visitor.signIn();
      await visitor.go("/fund");
      // The credits leave on another way between the wallet's question and its answer.
      visitor.wallet.beforeSending = async () => {
        const wallet = createWalletClient({ account, transport: http(stack.info.rpc_url) });
        const hash = await wallet.writeContract({
          address: stack.info.contracts.InferenceEscrow as `0x${string}`,
          abi: inferenceEscrowAbi,
          functionName: "withdraw",
          args: [450, account.address],
          chain: null,
        });
        await mined(createPublicClient({ transport: http(stack.info.rpc_url) }), hash);
      };
      await withdraw(100);
      await visitor.sees("The contract refused");
      await visitor.sees(/Only 50 credits are free; 100 credits were asked for/);
    });
  });

  describe("a session", () => {
    it("that ends while one works leads back to signing in, and says why", async () => {
      await visitor.signIn();
      await visitor.go("/settings");
      await visitor.sees("API key");
      const database = new pg.Client({ connectionString: stack.info.database_url });
      await database.connect();
      await database.query("UPDATE gateway.web_session SET expires_at = now() - interval '1 second'");
      await database.end();
      await visitor.press(/^(Create key|Revoke)/);
      await visitor.sees("Your session has ended");
      await visitor.press(/^Sign in with/);
      await visitor.sees("Low-credit warning");
    });

    it("is not opened with a nonce that was used before", async () => {
      let nonce: unknown;
      await visitor.page.route("**/app/api/nonce", async (route) => {
        const response = await route.fetch();
        nonce ??= await response.json();
        await route.fulfill({ json: nonce });
      });
      await visitor.signIn();
      await visitor.press("Sign out");
      await visitor.press(/^Sign in with/);
      await visitor.sees("Sign-in request too old");
      await visitor.sees(/used before/);
    });

    it("is not opened at another address than the service's own", async () => {
      await visitor.page.goto(stack.info.app_url.replace("127.0.0.1", "localhost"));
      await visitor.sees("Another address than the service's own");
      await visitor.press(/^Sign in with/);
      await visitor.sees("Wrong address");
    });
  });

  describe("the service", () => {
    it("out of reach is told, and the page goes on when it is back", async () => {
      await visitor.signIn();
      await visitor.page.route("**/app/api/**", (route) => route.abort());
      await visitor.page.getByRole("link", { name: "Jobs" }).first().click();
      await visitor.sees("Service out of reach");
      await visitor.page.unroute("**/app/api/**");
      await visitor.press("Try again");
      await visitor.sees("No jobs yet");
    });

    it("has no such page, transaction or job", async () => {
      await visitor.go("/nowhere");
      await visitor.sees("No such page");
      await visitor.go(`/tx/0x${"0".repeat(64)}`);
      await visitor.sees(/does not know a transaction/);
      await visitor.go(`/jobs/job_${"0".repeat(32)}`);
      await visitor.sees(/There is no job/);
    });
  });
}
