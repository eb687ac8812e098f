// The ranges of sampling parameters, by protocol, so that a request is refused before it is sent and in its own words.

import { isExactObject } from '../protocols/placed.ts';
import { isJsonObject, type JsonObject, wrongField } from '../wire/wire.ts';

export type Ranges = Readonly<Record<string, readonly [least: number, most: number]>>;

/** https://www.openresponses.org/reference, and https://platform.openai.com/docs/api-reference/chat/create (29 November 2026). */
export const OPENAI_RANGES: Ranges = {
  temperature: [0, 2],
  top_p: [0, 1],
  frequency_penalty: [-2, 2],
  presence_penalty: [-2, 2],
};

/** Throws invalid_request for the first member of `holder` that is no number, or outside of its range. */
export function checkRanges(holder: JsonObject, ranges: Ranges, parent = ''): void {
  for (const [name, [least, most]] of Object.entries(ranges)) {
    const value = holder[name] ?? null;
    const isLong = isJsonObject(value) && !isExactObject(value); // a number with many digits, which the provider judges
    if (value === null || isLong) continue;
    if (typeof value !== 'number') throw wrongField(parent + name, 'Input should be a valid number');
    if (value < least) throw wrongField(parent + name, `Input should be greater than or equal to ${least}`);
    if (value > most) throw wrongField(parent + name, `Input should be less than or equal to ${most}`);
  }
}
