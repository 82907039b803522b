/** Sign-ins of wallets that never had credits here. Anybody makes such wallets for nothing, and each can leave a key, settings and a webhook for ever. */

import type { Request } from "express";
import { ApiError } from "../../api/errors.ts";
import { isLoopback } from "../../api/outbound/address.ts";
import { addressOf } from "../../api/routes/request.ts";

const HOUR_MS = 3_600_000;
/** In an hour, of all together and of one address: more than the people behind one address need. */
const MOST = { all: 3_000, address: 100 };

/** Counts them by the hour, so that what they leave grows by tens of megabytes a day and not by gigabytes. A wallet that had a deposit does not count. */
export class Newcomers {
  readonly #hasAccount: (wallet: string) => Promise<boolean>;
  readonly #byAddress = new Map<string, number>();
  #hour = 0;
  #all = 0;

  /** `hasAccount`: whether the wallet ever had credits, as far as the index says. */
  constructor(hasAccount: (wallet: string) => Promise<boolean>) {
    this.#hasAccount = hasAccount;
  }

  /** Counts a sign-in of the wallet by a request. Throws `rate_limited` where these are too many in this hour. */
  async admit(wallet: string, request: Pick<Request, "ip">): Promise<void> {
    if (await this.#hasAccount(wallet)) return;
    const now = Date.now();
    const hour = Math.floor(now / HOUR_MS);
    if (hour !== this.#hour) {
      this.#hour = hour;
      this.#all = 0;
      this.#byAddress.clear();
    }
    const from = addressOf(request);
    const own = this.#byAddress.get(from) ?? 0;
    // A proxy on this machine that does not say whom it speaks for is many people.
    if (this.#all >= MOST.all || (own >= MOST.address && !isLoopback(request.ip ?? ""))) {
      const retryAfter = Math.ceil(((hour + 1) * HOUR_MS - now) / 1_000);
      throw new ApiError(
        "rate_limited",
        "Too many wallets without an account sign in. Deposit credits with the wallet first, or sign in later.",
        { details: { retry_after: retryAfter } },
      );
    }
    this.#all += 1;
    this.#byAddress.set(from, own + 1);
  }
}
