/** Whether everyone can use the application: axe on each page, by day on a wide screen and by night on a phone. */
import type { Browser } from "playwright-core";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { apiClient, chat } from "../../support/api-client.ts";
import type { TestStack } from "../../support/stack.ts";
import { type Scheme, Visitor } from "../support/visitor.ts";

const PAGES = ["/", "/fund", "/jobs", "/webhooks", "/settings", "/models", "/workers", "/explorer"];

export function accessibilityTests(given: () => { stack: TestStack; browser: Browser }): void {
  describe.each<{ colorScheme: Scheme; width: number }>([
    { colorScheme: "light", width: 1280 },
    { colorScheme: "dark", width: 390 },
  ])("$colorScheme, $width pixels wide", (look) => {
    it("axe finds nothing serious on any page, and nothing hangs over the edge", async () => {
      const { stack, browser } = given();
      if (stack.info.demo === null) throw new Error("the stack has no demo account");
      const { headers } = await apiClient(stack).post("/v1/chat/completions", chat("qwen3-1.7b", "Say hello."));
      const reader = await Visitor.open(
        browser,
        stack,
        privateKeyToAccount(stack.info.demo.private_key as `0x${string}`),
        look,
      );
      const found: Record<string, string[]> = {};
      const check = async (path: string) => {
        await reader.page.locator(".skeleton").first().waitFor({ state: "detached" });
        const findings = await reader.findings();
        if (findings.length > 0) found[path] = findings;
        const over = Number(await reader.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"));
        if (over > 0) found[`${path} is too wide`] = [`${over} pixels`];
      };
      await reader.go("/");
      await reader.page.getByRole("button", { name: /^Sign in with/ }).waitFor();
      await check("signing in");
      await reader.press(/^Sign in with/);
      await reader.sees("Latest jobs");
      const jobId = headers.get("x-service-job-id");
      for (const path of [...PAGES, `/jobs/${jobId}`, `/tx/${headers.get("x-service-tx-hash")}`]) {
        await reader.go(path);
        await reader.page.locator("h1").waitFor();
        await check(path);
      }
      await reader.close();
      expect(found).toEqual({});
    });
  });
}
