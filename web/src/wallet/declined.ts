/** Reads the errors of wallets, in whatever form they come: within an error of viem's, as a plain object, or as a bare string. */

/** From the error that was thrown to what is at its bottom. */
function* causesOf(error: unknown): Generator<unknown> {
  for (let cause = error; cause !== undefined && cause !== null; cause = (cause as { cause?: unknown }).cause)
    yield cause;
}

/** The code that the wallet itself gave, if it gave one: what stands around it has codes of its own. */
export function codeOf(error: unknown): number | null {
  const code = ([...causesOf(error)].at(-1) as { code?: unknown } | undefined)?.code;
  return typeof code === "number" ? code : null;
}

/** The wallet's own words. */
export function saidBy(error: unknown): string {
  const said = [...causesOf(error)].at(-1);
  return typeof said === "string" ? said : String((said as { message?: unknown } | undefined)?.message ?? "");
}

/** The words of wallets that do not use the code (EIP-1193: 4001) for "the owner declined". */
const DECLINED =
  /\buser (has )?(denied|rejected|declined|cancell?ed)|(denied|rejected|declined|cancell?ed) by (the )?user/i;

/** True if the wallet's owner declined. */
export const wasDeclined = (error: unknown): boolean =>
  [...causesOf(error)].some((cause) => (cause as { code?: unknown }).code === 4001) || DECLINED.test(saidBy(error));
