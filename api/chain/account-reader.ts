import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { ACCOUNT_AUTHORIZED, ACCOUNT_FROZEN, ACCOUNT_LIMITED, type AccountWord } from "../../protocol/words.ts";
import { type Rpc, RpcError, RpcUnreachable, twice } from "./rpc.ts";

/** Who may lock a wallet's credits and how many, and what was locked on the UTC day `spentDay` (days since 1970). */
export type SpendingTerms = {
  /** The one operator that may; 0: none. */
  operator: number;
  /** Each lock needs a signature of the wallet's authorization key. */
  authorized: boolean;
  frozen: boolean;
  dailyLimit: number | null;
  spentToday: number;
  spentDay: number;
};

/** A wallet's account at the end of one block. `sent`: how many transactions of our signer the chain has there; 0 where nobody asked. */
export type AccountAtBlock = {
  block: number;
  free: number;
  escrowed: number;
  terms: SpendingTerms;
  sent: number;
};

const READ_TIMEOUT_MS = 3_000;
/** Pauses before a refused read is tried again: one node of an address can be a block behind the one that was asked first. */
const RETRY_MS = [100, 300, 900];

/** The terms in an account as the chain stores it. */
export function termsOf(account: AccountWord): SpendingTerms {
  const { operator, flags, dailyLimit, spentToday, spentDay } = account;
  return {
    operator,
    authorized: (flags & ACCOUNT_AUTHORIZED) !== 0,
    frozen: (flags & ACCOUNT_FROZEN) !== 0,
    dailyLimit: (flags & ACCOUNT_LIMITED) !== 0 ? dailyLimit : null,
    spentToday,
    spentDay,
  };
}

/** Reads a wallet's account and our signer's nonce at one block: together they tell which of our settlements the balance has. */
export class AccountReader {
  readonly #rpc: Rpc;
  readonly #escrow: Address;
  readonly #signer: Address;

  /** `signer`: whose settlements are to be told apart. */
  constructor(rpc: Rpc, escrow: Address, signer: Address) {
    this.#rpc = rpc;
    this.#escrow = escrow;
    this.#signer = signer;
  }

  /**
   * The account at the newest block. `needsSent` is asked once that block is known, and tells whether transactions of ours can be in it:
   * what leaves only from then on is mined in a later one. Rejects with RpcUnreachable, also where the nodes do not come to agree.
   */
  async read(wallet: Address, needsSent: () => boolean): Promise<AccountAtBlock> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await twice(() => this.#atNewest(wallet, needsSent));
      } catch (error) {
        const pause = RETRY_MS[attempt];
        if (!(error instanceof RpcError)) throw error;
        if (pause === undefined) throw new RpcUnreachable("account", error);
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  /** The key that signs each job of the wallet, as of the newest block; zero for none. Rejects with RpcUnreachable. */
  async authorizationKey(wallet: Address): Promise<Address> {
    const question = { abi: inferenceEscrowAbi, functionName: "authorizationKeyOf" } as const;
    const call = { to: this.#escrow, data: encodeFunctionData({ ...question, args: [wallet] }) };
    try {
      const data = await twice(() => this.#rpc.request<Hex>("eth_call", [call, "latest"], READ_TIMEOUT_MS));
      return decodeFunctionResult({ ...question, data });
    } catch (error) {
      throw error instanceof RpcError ? new RpcUnreachable("authorization key", error) : error;
    }
  }

  async #atNewest(wallet: Address, needsSent: () => boolean): Promise<AccountAtBlock> {
    const block = await this.#rpc.request<Hex>("eth_blockNumber", [], READ_TIMEOUT_MS);
    const [account, sent] = await Promise.all([this.#account(wallet, block), needsSent() ? this.#sent(block) : 0]);
    const { free, escrowed } = account;
    return { block: Number(block), free, escrowed, terms: termsOf(account), sent };
  }

  async #account(wallet: Address, block: Hex) {
    const question = { abi: inferenceEscrowAbi, functionName: "accountOf" } as const;
    const call = { to: this.#escrow, data: encodeFunctionData({ ...question, args: [wallet] }) };
    const data = await this.#rpc.request<Hex>("eth_call", [call, block], READ_TIMEOUT_MS);
    return decodeFunctionResult({ ...question, data });
  }

  async #sent(block: Hex): Promise<number> {
    return Number(await this.#rpc.request<Hex>("eth_getTransactionCount", [this.#signer, block], READ_TIMEOUT_MS));
  }
}
