/** A person's way through the application, in a browser with a wallet, against the whole service. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { TestStack } from "../../support/stack.ts";
import { entrySteps } from "./journey/entry.ts";
import { exitSteps } from "./journey/exits.ts";
import { jobSteps } from "./journey/jobs.ts";
import { Person } from "./journey/person.ts";
import { webhookSteps } from "./journey/webhooks.ts";

export function journeyTests(given: () => { stack: TestStack; browser: Browser }): void {
  const person = new Person();

  beforeAll(async () => {
    const { stack, browser } = given();
    await person.open(stack, browser);
  });
  afterAll(() => person.close());

  // Each step builds on the ones before it.
  beforeEach(({ task, skip }) => {
    skip(task.suite?.tasks.some((step) => step.result?.state === "fail") ?? false, "an earlier step failed");
  });

  entrySteps(person);
  webhookSteps(person);
  jobSteps(person);
  exitSteps(person);
}
