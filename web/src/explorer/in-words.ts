/** Events as pages show them. Pure, and without the ABIs of calls and governance. */
import { decodeAccountWord, decodeJobWord, decodeUsageWord } from "../../../protocol/words.ts";
import { argumentText, argumentUnit, describeEvent, type Field } from "../../../verify/describe.ts";
import type { AnyEvent } from "../../../verify/events.ts";

/** An event's title, and its arguments with packed words taken apart. */
export function inWords(event: AnyEvent): { title: string; fields: Field[] } {
  const { title, fields } = describeEvent(event);
  return { title, fields: fields.flatMap(unpacked) };
}

/** The values in the escrow's packed words that the event's other fields do not have. */
const WORDS: Record<string, (word: bigint) => Record<string, number>> = {
  job: (word) => {
    const { model, operator, creditsPerRequest, creditsPer1kTokens, ...rest } = decodeJobWord(word);
    const { feeBps, operatorShare, lockedAt } = rest;
    return { model, operator, creditsPerRequest, creditsPer1kTokens, feeBps, operatorShare, lockedAt };
  },
  account: (word) => {
    const { free, escrowed } = decodeAccountWord(word);
    return { free, escrowed };
  },
  usage: decodeUsageWord,
};

/** A packed word as the fields it holds; any other field as it is. */
function unpacked(field: Field): Field[] {
  const read = WORDS[field.name];
  if (field.unit !== "packed word" || read === undefined) return [field];
  return Object.entries(read(field.value as bigint)).map(([name, value]) => fieldOf(name, "uint40", value));
}

/** A field of the escrow that no event has by itself. */
export function fieldOf(name: string, type: string, value: number | bigint): Field {
  const unit = argumentUnit("escrow", type, name) ?? "text";
  return { name, value, unit, text: argumentText(value, name, unit) };
}
