// Prices of units besides tokens of text, and their exact cost. Pure.

import { z } from 'zod';
import { assert } from '../base/assert.ts';
import { isWholeNumber } from '../base/checked-number.ts';
import { UNITS, type Unit, type Units, unitEntries } from '../wire/wire.ts';

/** Rates in units of 10^-12 USD, by their names in files and records. */
export interface UnitRates {
  readonly rates: Readonly<Partial<Record<RateName, bigint>>>;
  /** By size and quality, by one of them, or by "*"; null: images have no price. */
  readonly images: ReadonlyMap<string, bigint> | null;
}

interface UnitPrice {
  /** The name of the rate in files and records. */
  rate: string;
  /** The units that the rate is for. */
  per: bigint;
}

const MILLION = 1_000_000n;

/** An hour of sound has a rate without a remainder where a second has none. */
export const UNIT_PRICES = {
  input_audio_tokens: { rate: 'audio_input', per: MILLION },
  output_audio_tokens: { rate: 'audio_output', per: MILLION },
  input_image_tokens: { rate: 'image_input', per: MILLION },
  output_image_tokens: { rate: 'image_output', per: MILLION },
  images: { rate: 'per_image', per: 1n },
  characters: { rate: 'per_million_characters', per: MILLION },
  seconds: { rate: 'per_hour', per: 3_600n },
  searches: { rate: 'per_thousand_searches', per: 1_000n },
} as const satisfies Record<Unit, UnitPrice>;
export type RateName = Exclude<(typeof UNIT_PRICES)[Unit]['rate'], 'per_image'>;

/** Parts of 10^-24 USD in which the cost of every unit is whole: a second is 2,500 ninths of a millionth of an hour's rate. */
export const PARTS_PER_UNIT = 9n;

/** Tokens of another modality without a rate of their own cost as much as tokens of text. */
const TEXT_RATES: Readonly<Partial<Record<Unit, 'input' | 'output'>>> = {
  input_audio_tokens: 'input',
  input_image_tokens: 'input',
  output_audio_tokens: 'output',
  output_image_tokens: 'output',
};

/** An image without a row of its own costs as much as the dearest: a provider made another one than was requested. */
const ANY_IMAGE = '*';

/** The rate of an image; null: images have no price at all. */
export function imageRate({ images }: Pick<UnitRates, 'images'>, image: string | null): bigint | null {
  if (images === null) return null;
  const found = image === null ? undefined : findImage(images, image);
  return found ?? dearest(images.values());
}

function findImage(images: ReadonlyMap<string, bigint>, image: string): bigint | undefined {
  const words = image.split(' ');
  const own = [image, ...words].map((name) => images.get(name)).find((rate) => rate !== undefined);
  if (own !== undefined) return own;
  const wider = [...images].filter(([name]) => words.every((word) => name.split(' ').includes(word)));
  return wider.length > 0 ? dearest(wider.map(([, rate]) => rate)) : images.get(ANY_IMAGE);
}

function dearest(rates: Iterable<bigint>): bigint {
  return [...rates].reduce((most, rate) => (rate > most ? rate : most), 0n);
}

/** Whether images of this size and quality have a price. */
export function isImagePriced({ images }: Pick<UnitRates, 'images'>, image: string | null): boolean {
  return images !== null && (image === null ? images.size > 0 : findImage(images, image) !== undefined);
}

/** The rate of a unit, and its name; null without a price. */
function rateOf(
  unit: Unit,
  image: string | null,
  price: UnitRates | null,
  text: Record<'input' | 'output', bigint>,
): { name: string; rate: bigint } | null {
  const name = UNIT_PRICES[unit].rate;
  const own = price === null ? null : name === 'per_image' ? imageRate(price, image) : (price.rates[name] ?? null);
  if (own !== null) return { name, rate: own };
  const { [unit]: direction } = TEXT_RATES;
  return direction === undefined ? null : { name: direction, rate: text[direction] };
}

/** Whether the price has a rate for a unit of its own. */
export function isUnitPriced(price: UnitRates | null, unit: Unit): boolean {
  if (price === null) return false;
  const { rate: name } = UNIT_PRICES[unit];
  return name === 'per_image' ? price.images !== null : price.rates[name] !== undefined;
}

/** Whether counts of a unit cost anything. */
export function isCharged(unit: Unit, price: UnitRates | null, text: Record<'input' | 'output', bigint>): boolean {
  return (rateOf(unit, null, price, text)?.rate ?? 0n) > 0n;
}

/** The cost before the multiplier, in parts of 10^-18 USD. Units without a price cost nothing. */
export function unitParts(price: UnitRates | null, units: Units, text: Record<'input' | 'output', bigint>): bigint {
  let sum = 0n;
  for (const [unit, count] of unitEntries(units)) {
    const found = rateOf(unit, units.image, price, text);
    if (found !== null) sum += partsOf(unit, count, found.rate);
  }
  return sum;
}

/** The cost of a count at a rate, in the same parts. */
export function partsOf(unit: Unit, count: number, rate: bigint): bigint {
  assert(isWholeNumber(count), 'a count of units is a non-negative integer');
  return (BigInt(count) * rate * MILLION * PARTS_PER_UNIT) / UNIT_PRICES[unit].per;
}

/** The applied rates of the counted units that have one of their own, by their names. */
export function appliedUnitRates(price: UnitRates | null, units: Units): [name: string, rate: bigint][] {
  if (price === null) return [];
  return unitEntries(units).flatMap(([unit]): [string, bigint][] => {
    if (!isUnitPriced(price, unit)) return [];
    const { rate: name } = UNIT_PRICES[unit];
    const rate = name === 'per_image' ? imageRate(price, units.image) : price.rates[name];
    return [[name, rate ?? 0n]];
  });
}

/** The name of the recorded rate that a unit was billed by. */
export function recordedRateName(unit: Unit, rates: Readonly<Record<string, string>>): string | null {
  const { rate: name } = UNIT_PRICES[unit];
  return Object.hasOwn(rates, name) ? name : (TEXT_RATES[unit] ?? null);
}

/** Every rate changed by `change`. */
export function mapUnitRates(price: UnitRates | null, change: (rate: bigint) => bigint): UnitRates | null {
  if (price === null) return null;
  const rates = Object.fromEntries(Object.entries(price.rates).map(([name, rate]) => [name, change(rate)]));
  const images = price.images && new Map([...price.images].map(([name, rate]) => [name, change(rate)]));
  return { rates, images };
}

const IMAGE_KINDS_MAX = 100;
const IMAGE_WORDS =
  'must be the size and quality of an image, or one of them, such as "1024x1024 high", "2K" or "*" for all others';
const imageKind = z.string().regex(/^(?:\*|[A-Za-z0-9][A-Za-z0-9.:_-]{0,31}(?: [a-z]{1,16})?)$/, IMAGE_WORDS);
/** Their names in files and records. */
export const UNIT_RATES = UNITS.map((unit) => UNIT_PRICES[unit].rate);
const rateNames = UNIT_RATES.filter((name) => name !== 'per_image');

/** The member `units` of a price. `rate` reads one rate. */
export function unitPriceInput<Rate extends z.ZodType<string>>(rate: Rate) {
  const named = Object.fromEntries(rateNames.map((name) => [name, rate.exactOptional()])) as {
    [Name in RateName]: z.ZodExactOptional<Rate>;
  };
  return z
    .strictObject({
      ...named,
      per_image: z
        .union([
          rate,
          z
            .record(imageKind, rate)
            .refine((kinds) => Object.keys(kinds).length > 0, 'must not be empty')
            .refine(
              (kinds) => Object.keys(kinds).length <= IMAGE_KINDS_MAX,
              `must have at most ${IMAGE_KINDS_MAX} rows`,
            ),
        ])
        .exactOptional(),
    })
    .refine((units) => Object.keys(units).length > 0, 'must not be empty: omit it if there is none');
}

/** Rates by their names in files, as decimals. */
export interface UnitPriceInput extends Partial<Record<RateName, string>> {
  per_image?: string | Record<string, string>;
}

/** `read` reads one rate. */
export function unitRatesFrom(given: UnitPriceInput, read: (rate: string) => bigint): UnitRates {
  const { per_image: image, ...others } = given;
  const entries = Object.entries(others).map(([name, rate]) => [name, read(rate)]);
  const rows = image === undefined ? null : typeof image === 'string' ? { [ANY_IMAGE]: image } : image;
  return Object.freeze({
    rates: Object.freeze(Object.fromEntries(entries)),
    images: rows && new Map(Object.entries(rows).map(([kind, rate]) => [kind, read(rate)])),
  });
}

/** As in files. `format` writes one rate. */
export function printUnitRates({ rates, images }: UnitRates, format: (rate: bigint) => string): UnitPriceInput {
  const printed: UnitPriceInput = {};
  for (const name of rateNames) {
    const { [name]: rate } = rates;
    if (rate !== undefined) printed[name] = format(rate);
  }
  if (images !== null) {
    const rows = [...images].map(([kind, rate]) => [kind, format(rate)] as const);
    const [first] = rows;
    printed.per_image =
      rows.length === 1 && first !== undefined && first[0] === ANY_IMAGE ? first[1] : Object.fromEntries(rows);
  }
  return printed;
}
