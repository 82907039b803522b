import { eventually, type KnownStack } from "./api-client.ts";

/** Waits until the index has every block that the stack's gateway has seen, all those of its own transactions among them. */
export async function untilIndexed({ info }: KnownStack): Promise<void> {
  const lag = async () => {
    const text = await (await fetch(`${info.base_url}/metrics`)).text();
    return /^gateway_index_lag_blocks (-?\d+)$/m.exec(text)?.[1];
  };
  await eventually(lag, (blocks) => blocks === "0");
}
