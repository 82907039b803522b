import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { beforeAll, beforeEach } from "vitest";
import type { TestStack } from "../../../support/stack.ts";
import { WebClient } from "../../support/web-client.ts";

/** A person with a wallet who has not signed in: for each test anew. */
export class Visitor {
  readonly account = privateKeyToAccount(generatePrivateKey());
  stack!: TestStack;
  web!: WebClient;

  constructor(given: () => TestStack) {
    beforeAll(() => {
      this.stack = given();
    });
    beforeEach(() => {
      this.web = new WebClient(this.stack);
    });
  }
}
