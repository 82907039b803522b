/** How a command of the operator is written down: its usage says what it takes, and every placeholder has one way to be read. */
import { getAddress, type Hex, isAddress, isHex } from "viem";
import { z } from "zod";
import { fromApiJobId } from "../protocol/job-id.ts";
import { compactSignature } from "../protocol/messages.ts";
import { TIERS } from "../protocol/tiers.ts";
import { type Call, type Operator, OperatorError, type Output } from "./operator.ts";

/** A text that `holds`; `fault` says what is wrong with it, behind the name of the argument. */
const text = (holds: (text: string) => boolean, fault: (text: string) => string) =>
  z.string().refine(holds, { error: ({ input }) => fault(String(input)) });

const whole = (least: number, most: number) =>
  text(
    (one) => /^\d+$/.test(one) && Number(one) >= least && Number(one) <= most,
    (one) => `${one} must be a whole number from ${least} to ${most}`,
  ).transform(Number);

const any = z.string().min(1, "must not be empty");
const address = text(
  (one) => isAddress(one),
  (one) => `"${one}" is not an address (or its checksum is wrong)`,
).transform((one) => getAddress(one));
/** As the API writes it, or the bare bytes of the chain. */
const jobId = text(
  (one) => /^(0x|job_)[0-9a-f]{32}$/i.test(one),
  (one) => `"${one}" is not a job id: job_ and 32 hex digits`,
).transform((one) => (/^0x/i.test(one) ? (one.toLowerCase() as Hex) : (fromApiJobId(one.toLowerCase()) as Hex)));
/** A key and its consent, as `signers consent` prints them. */
const consent = z
  .string()
  .refine((one) => isHex(one.split(":")[1]) && one.split(":")[1]?.length === 132, {
    error: ({ input }) => `${input} must be <key>:<consent>, a consent of 65 bytes as \`signers consent\` prints it`,
  })
  .transform((one) => one.split(":") as [string, Hex])
  .pipe(z.tuple([address, z.custom<Hex>()]))
  .transform(([key, signature]) => ({ key, consent: compactSignature(signature) }));
const list = <S extends z.ZodType>(one: S) =>
  z.preprocess((given = "") => String(given).split(",").filter(Boolean), z.array(one));

/** Every placeholder and option of a usage. */
const ARGUMENTS = {
  id: any,
  wallet: address,
  admin: address,
  receiver: address,
  guardian: address,
  operator: whole(1, 160),
  credits: whole(0, 2 ** 40 - 1),
  bps: whole(0, 2_000),
  // Base units may exceed 2^53.
  units: text(
    (one) => /^\d{1,60}$/.test(one) && BigInt(one) > 0n,
    (one) => `${one} must be a whole number of base units above 0`,
  ).transform(BigInt),
  "job id": jobId,
  parameters: any,
  "owned-by": any,
  tier: z.enum(TIERS, { error: ({ input }) => `"${input}" must be one of ${TIERS.join(", ")}` }),
  "per-request": whole(1, 65_535),
  "per-1k": whole(1, 65_535),
  "context-window": whole(1, 2 ** 32 - 1),
  "ether-price": whole(1, 10_000_000),
  "gas-price": whole(0, 1e14).transform(BigInt).optional(),
  at: text(
    (one) => /T.*(Z|[+-]\d\d:\d\d)$/.test(one) && !Number.isNaN(Date.parse(one)),
    (one) => `${one} must be a time with its zone, e.g. 2030-01-31T12:00:00Z`,
  ).transform((one) => Math.floor(Date.parse(one) / 1000)),
  add: list(consent),
  remove: list(address),
  "workers-file": any,
  arbiters: list(address),
  quorum: whole(1, 255),
};
type Arguments = typeof ARGUMENTS;

/** `<name>` and `--name VALUE` of a usage. */
type NameIn<U> = U extends `${string}<${infer N}>${infer Rest}`
  ? N | NameIn<Rest>
  : U extends `${string}--${infer N} ${infer Rest}`
    ? N | NameIn<Rest>
    : never;
/** What a command is given. `choice`: the one of `a|b|c` that was named; `ids`: the job ids, where there can be several. */
type Given<U extends string> = { [N in NameIn<U> & keyof Arguments]: z.output<Arguments[N]> } & {
  choice: string;
  ids: readonly Hex[];
  all: boolean;
};

/** What a command does: it shows something, sends a call, or proposes one to the vote. `database`: it asks no chain. */
type Action<U extends string> =
  | { show: (operator: Operator, given: Given<U>) => Output | Promise<Output>; database?: true }
  | { send: (operator: Operator, given: Given<U>) => Call | Promise<Call> }
  | { propose: (operator: Operator, given: Given<U>) => Call | Promise<Call> };
export type Command = { usage: string; does: string; action: Action<string> };

/** `usage`: two words, then what stands behind them. */
export const command = <U extends string>(usage: U, does: string, action: Action<U>): Command => ({
  usage,
  does,
  action: action as Action<string>,
});

/** Reads what was given to a command. What it does not know is a mistake, not something to ignore. */
export function readGiven({ usage }: Command, words: readonly string[], flags: Record<string, unknown>) {
  const [head = "", ...optional] = usage.split(/ (?=\[?--)/);
  const wanted = head.match(/<[^>]+>…?|\S*\|\S*/g) ?? [];
  const named = optional.map((option) => option.match(/--([\w-]+)/)?.[1] ?? "");
  const isMany = head.endsWith("…");
  const isWrong = isMany ? words.length < wanted.length : words.length !== wanted.length;
  if (isWrong || Object.keys(flags).some((flag) => !named.includes(flag))) {
    throw new OperatorError(`usage: npm run operator -- ${usage}`);
  }
  const given: Record<string, unknown> = { all: flags["all"] === true, ids: isMany ? words.map(readJobId) : [] };
  for (const [i, place] of wanted.entries()) {
    const word = words[i] ?? "";
    const name = place.match(/<(.+)>/)?.[1];
    if (name !== undefined) given[name] = read(name, `<${name}>`, word);
    else if (place.split("|").includes(word)) given["choice"] = word;
    else throw new OperatorError(`"${word}" must be one of ${place.split("|").join(", ")}`);
  }
  for (const name of named.filter((one) => one in ARGUMENTS)) given[name] = read(name, `--${name}`, flags[name]);
  return given as Given<string>;
}

const readJobId = (word: string): Hex => read("job id", "<job id>", word) as Hex;

function read(name: string, shown: string, value: unknown): unknown {
  const result = ARGUMENTS[name as keyof Arguments].safeParse(value);
  if (result.success) return result.data;
  throw new OperatorError(`${shown} ${value === undefined ? "is missing" : result.error.issues[0]?.message}`);
}
