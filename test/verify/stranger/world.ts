import type { Address, Hex } from "viem";
import { expect } from "vitest";
import { decodePayee } from "../../../protocol/words.ts";
import { OPERATOR } from "../../worker/support/chain.ts";
import { type Protocol, people, startProtocol, workerKey } from "../support/protocol.ts";

export const DAY = 86_400;
/** 500 SVC: what a slash takes. */
export const SLASH = 500_000_000n;
/** A job of 100 tokens on a standard model: 8 credits at 10 %. */
export const CHARGE = 80_000n;
export const FEE = 8_000n;

export const refused = (call: Promise<unknown>) => expect(call).rejects.toThrow(/revert/);

/** The protocol on a node, and what anybody can read of it. */
export class World {
  p!: Protocol;
  treasury!: Address;

  async open(): Promise<void> {
    this.p = await startProtocol();
    this.treasury = this.p.chain.deployment.contracts.ProtocolTreasury;
    // What fees of earlier days have left there: 10 stablecoins.
    await this.p.send(people.stranger, this.p.token, "mint", [this.treasury, 10_000_000n]);
  }

  async close(): Promise<void> {
    await this.p?.stop();
  }

  jobOf(jobId: Hex) {
    return this.p.read({ ...this.p.escrow, functionName: "jobOf", args: [jobId] });
  }

  /** The client's credits. */
  async client() {
    const args = [people.client.address] as const;
    const { free, escrowed } = await this.p.read({ ...this.p.escrow, functionName: "accountOf", args });
    return { free, escrowed };
  }

  /** Credits at hand in the operator's reserve, and those that are bonds. */
  async operator() {
    const { reserve, held } = await this.p.read({ ...this.p.escrow, functionName: "operatorOf", args: [OPERATOR] });
    return { reserve, held };
  }

  claimable() {
    return this.p.read({ ...this.p.escrow, functionName: "claimableOf", args: [people.client.address] });
  }

  tokens(owner: Address) {
    return this.p.read({ ...this.p.token, functionName: "balanceOf", args: [owner] });
  }

  async worker() {
    const word = await this.p.read({ ...this.p.registry, functionName: "payeeOf", args: [workerKey.address, 0] });
    return this.p.read({ ...this.p.registry, functionName: "workerAt", args: [decodePayee(word)?.id ?? 0] });
  }
}
