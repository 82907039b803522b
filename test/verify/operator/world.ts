import { type Hex, toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { expect } from "vitest";
import { newJobId } from "../../../protocol/job-id.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { runOperator } from "../../../scripts/operator/run.ts";
import { type Protocol, people, startProtocol } from "../support/protocol.ts";

export const DAY = 86_400;
const keyOf = (addressIndex: number): Hex => {
  const account = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
  return toHex(account.getHdKey().privateKey as Uint8Array);
};
/** Private keys of the protocol's people. */
export const KEYS = {
  holder: keyOf(2),
  stranger: keyOf(4),
  guardian: keyOf(6),
  arbiters: [keyOf(7), keyOf(8)] as const,
};

/** The protocol on a node, and an operator's command line. */
export class World {
  p!: Protocol;

  async open(): Promise<void> {
    this.p = await startProtocol();
  }

  async close(): Promise<void> {
    await this.p?.stop();
  }

  /** Output of a command. */
  operator(command: string, key?: Hex): Promise<string> {
    return runOperator(command.split(" "), { ...this.p.chain.env, ...(key ? { OPERATOR_PRIVATE_KEY: key } : {}) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: each command prints JSON of its own
  async json(command: string, key?: Hex): Promise<any> {
    return JSON.parse(await this.operator(`${command} --json`, key));
  }

  /** Whether the first operator can lock credits now. */
  async locks(): Promise<boolean> {
    const jobId = newJobId();
    await this.p.batch(people.gateway, [this.p.lockCall(jobId)]);
    const { status } = await this.p.read({ ...this.p.escrow, functionName: "jobOf", args: [jobId] });
    return status === ChainStatus.Locked;
  }

  /** Proposes, votes, waits, queues, waits, executes. */
  async decide(command: string): Promise<void> {
    await this.operator("proposals delegate --yes", KEYS.holder);
    await this.p.later(1);
    const { proposal_id: id, sent } = await this.json(`${command} --yes`, KEYS.holder);
    expect(sent).toBe(true);
    const state = async () => (await this.json("proposals list")).find((one: { id: string }) => one.id === id).state;
    expect(await state()).toBe("pending");
    await this.p.later(DAY + 1);
    await this.operator(`proposals vote ${id} for --yes`, KEYS.holder);
    await expect(this.operator(`proposals vote ${id} for --yes`, KEYS.stranger)).rejects.toThrow(
      "has no votes in this proposal",
    );
    await expect(this.operator(`proposals queue ${id} --yes`, KEYS.stranger)).rejects.toThrow(
      /GovernorUnexpectedProposalState/,
    );
    await this.p.later(5 * DAY);
    await this.operator(`proposals queue ${id} --yes`, KEYS.stranger);
    expect(await state()).toBe("queued");
    await this.p.later(2 * DAY);
    await this.operator(`proposals execute ${id} --yes`, KEYS.stranger);
    expect(await state()).toBe("executed");
  }
}
