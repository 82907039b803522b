import { type Address, createPublicClient, createWalletClient, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, nonceManager, privateKeyToAccount } from "viem/accounts";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../../protocol/generated/abi.ts";
import { toUnits } from "../../../protocol/money.ts";
import { receiptOf } from "../../../protocol/receipt.ts";
import { DEPLOYER_KEY, OPERATOR } from "../../local-stack/accounts.ts";
import type { Stack } from "../../local-stack/stack.ts";

const CREDITS = 100;

/** A wallet that buys credits again and again: each purchase is an event. */
export class Depositor {
  readonly #account = privateKeyToAccount(generatePrivateKey(), { nonceManager });
  readonly #client;
  readonly #wallet;
  readonly #escrow: Address;

  private constructor(stack: Stack) {
    const transport = http(stack.info.rpc_url);
    this.#client = createPublicClient({ transport });
    this.#wallet = createWalletClient({ account: this.#account, transport });
    this.#escrow = stack.info.contracts["InferenceEscrow"] as Address;
  }

  /** `purchases`: the most it will make. */
  static async create(stack: Stack, purchases: number): Promise<Depositor> {
    const depositor = new Depositor(stack);
    const { account, transport } = { account: privateKeyToAccount(DEPLOYER_KEY), transport: http(stack.info.rpc_url) };
    const funder = createWalletClient({ account, transport });
    const coin = {
      address: stack.info.contracts["Stablecoin"] as Address,
      abi: testStablecoinAbi,
      chain: null,
    } as const;
    const units = toUnits(purchases * CREDITS);
    const to = depositor.address;
    await depositor.#mined(await funder.sendTransaction({ to, value: parseEther("100"), chain: null }));
    await depositor.#mined(await funder.writeContract({ ...coin, functionName: "mint", args: [to, units] }));
    const approve = { ...coin, functionName: "approve", args: [depositor.#escrow, units] } as const;
    await depositor.#mined(await depositor.#wallet.writeContract(approve));
    return depositor;
  }

  get address(): Address {
    return this.#account.address;
  }

  /** Buys `rate` times a second until `end` settles; returns each transaction with the time its block was there. */
  async run(rate: number, end: Promise<unknown>): Promise<Map<Hex, number>> {
    const mined = new Map<Hex, number>();
    const open = new Set<Promise<void>>();
    let over = false;
    const stop = () => {
      over = true;
    };
    end.then(stop, stop);
    for (let next = performance.now(); !over; next += 1_000 / rate) {
      const wait = next - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const one = this.#buy().then((hash) => {
        mined.set(hash, performance.now());
        open.delete(one);
      });
      open.add(one);
    }
    await Promise.all(open);
    return mined;
  }

  async #buy(): Promise<Hex> {
    const args = [CREDITS, OPERATOR] as const;
    const call = { address: this.#escrow, abi: inferenceEscrowAbi, functionName: "deposit", args } as const;
    return await this.#mined(await this.#wallet.writeContract({ ...call, chain: null, gas: 300_000n }));
  }

  async #mined(hash: Hex): Promise<Hex> {
    const { status } = await receiptOf(this.#client, hash, { interval: 5 });
    if (status !== "success") throw new Error(`transaction ${hash} reverted`);
    return hash;
  }
}
