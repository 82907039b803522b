/** Writes numbers, money and times the same way everywhere. */

const numbers = new Intl.NumberFormat("en-US");

export const count = (value: number): string => numbers.format(value);

/** `1,234 credits`. */
export const credits = (value: number): string => `${numbers.format(value)} ${value === 1 ? "credit" : "credits"}`;

/** Credits as the stablecoin they are worth: `12.34 USDG`. */
export const usdg = (value: number): string =>
  `${(value / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} USDG`;

/** Said where USDG first stands on a page. */
export const USDG_IS = "USDG is a stablecoin: a token meant to be worth one US dollar.";

/** Units of a token with `decimals`, without trailing zeros beyond `least` places. */
export function units(value: bigint, decimals: number, least = 2): string {
  const negative = value < 0n;
  const digits = (negative ? -value : value).toString().padStart(decimals + 1, "0");
  const whole = numbers.format(BigInt(digits.slice(0, digits.length - decimals)));
  const fraction = decimals === 0 ? "" : digits.slice(-decimals).replace(/0+$/, "").padEnd(least, "0");
  return `${negative ? "−" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Units of the stablecoin as credits, 10,000 each; a share can have a fraction of one. */
export const creditsOf = (value: bigint): string =>
  value % 10_000n === 0n ? credits(Number(value / 10_000n)) : `${units(value, 4, 0)} credits`;

/** An amount of the chain's currency, to 12 places. */
export const coins = (wei: string): string => units(BigInt(wei) / 1_000_000n, 12, 0);

/** A share as a percentage, to a tenth: only all is 100 %. */
export const percent = (share: number): string => `${Math.floor(share * 1000) / 10} %`;

/** Success of 24 hours; a dash where nothing ended. */
export const success = (share: number | null): string => (share === null ? "–" : percent(share));

/** A worker's time to first token. */
export const firstToken = (ms: number | null): string => (ms === null ? "–" : `${count(ms)} ms`);

/** Millionths of an SVC. */
export const svc = (millionths: bigint): string => `${units(millionths, 6, 0)} SVC`;

const MINUTES = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
const dateTime = new Intl.DateTimeFormat(undefined, { ...MINUTES, year: "numeric", second: "2-digit" });
const shortTime = new Intl.DateTimeFormat(undefined, MINUTES);

/** A moment in the reader's own time zone, which it names: days of use are counted in UTC. */
export const moment = (iso: string): string => dateTime.format(new Date(iso));
/** The same of a time of the chain, Unix seconds. */
export const momentOf = (seconds: number): string => moment(new Date(seconds * 1_000).toISOString());
export const shortMoment = (iso: string): string => shortTime.format(new Date(iso));

const clockTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayAndZone = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  timeZoneName: "short",
});

/** The time of day of Unix seconds; `day` says which day, and the zone of both. */
export const clock = (seconds: number): string => clockTime.format(seconds * 1_000);
export const day = (seconds: number): string => dayAndZone.format(seconds * 1_000);

/** How long ago: `12 s`, `5 min`, `3 h`, `40 d`. */
export function age(iso: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** `0.42 s` where it was measured, `3 s` by the times of blocks: those within one block's second are at most `1 s` apart. */
export const seconds = (value: number): string =>
  Number.isInteger(value)
    ? `${numbers.format(Math.max(1, value))} s`
    : `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`;

/** `320 ms`, `1.24 s`; a dash where nothing is known. */
export const milliseconds = (ms: number | null): string =>
  ms === null ? "–" : ms < 1_000 ? `${numbers.format(ms)} ms` : `${numbers.format(Math.round(ms / 10) / 100)} s`;

export const tokensPerSecond = (value: number | null): string =>
  value === null ? "–" : `${numbers.format(value)} tok/s`;

/** `0x1234…cdef`; job ids keep their random end, which tells them apart. */
export function short(text: string, head = 6, tail = 4): string {
  return text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;
}

/** `0:42`; `3:00:42` where hours are left, `6 d 3:00:42` where days are. */
export function countdown(ms: number): string {
  const left = Math.max(0, Math.ceil(ms / 1_000));
  const [days, hours, minutes] = [86_400, 3_600, 60].map((unit) => Math.floor(left / unit)) as [number, number, number];
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = `${hours === 0 ? minutes : `${hours % 24}:${two(minutes % 60)}`}:${two(left % 60)}`;
  return days === 0 ? clock : `${days} d ${clock}`;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
