// Units besides tokens of text, in words.

import type { UsageShape, UsageTotalShape } from '../src/admin-api/shapes.ts';
import { countOf, formatCount, formatMs } from './figures.ts';
import { formatMoney, nanoOf, usdOf } from './money.ts';

export type Unit = keyof UsageShape['units'];
/** As totals have them; null: unknown. */
export type UnitUses = UsageTotalShape['units'];

export const unitLabels = {
  input_audio_tokens: 'Audio input',
  output_audio_tokens: 'Audio output',
  input_image_tokens: 'Image input',
  output_image_tokens: 'Image output',
  images: 'Images',
  characters: 'Characters',
  seconds: 'Sound',
  searches: 'Searches',
} as const satisfies Record<Unit, string>;

export const UNITS = Object.keys(unitLabels) as Unit[];

const HOUR_SECONDS = 3_600;

function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < HOUR_SECONDS) return formatMs(seconds * 1_000);
  return `${formatCount(Math.floor(seconds / HOUR_SECONDS))} h ${Math.floor((seconds % HOUR_SECONDS) / 60)} min`;
}

/** A count, or a time of sound: "1,204", "3 min 20 s". */
export function quantityText(unit: Unit, quantity: number, format = formatCount): string {
  return unit === 'seconds' ? durationText(quantity) : format(quantity);
}

/** "12 images", "3 min 20 s of sound", "1,204 audio input tokens". */
export function unitText(unit: Unit, quantity: number): string {
  switch (unit) {
    case 'images':
      return countOf(quantity, 'image');
    case 'characters':
      return countOf(quantity, 'character');
    case 'searches':
      return `${formatCount(quantity)} ${quantity === 1 ? 'search' : 'searches'}`;
    case 'seconds':
      return `${durationText(quantity)} of sound`;
    default:
      return countOf(quantity, `${unitLabels[unit].toLowerCase()} token`);
  }
}

/** "12 images · $0.48". */
export function unitCostText(unit: Unit, quantity: number, cost: string): string {
  return `${unitText(unit, quantity)} · ${formatMoney(cost)}`;
}

/** Units with their quantities and costs, in one order. */
export function unitsUsed(units: UnitUses): { unit: Unit; quantity: number; cost: string }[] {
  return UNITS.flatMap((unit) => {
    const { quantity, cost } = units?.[unit] ?? { quantity: 0, cost: '0' };
    return quantity === 0 ? [] : [{ unit, quantity, cost }];
  });
}

/** "12 images · 1,204 characters"; empty without any. */
export function unitsText(units: UnitUses): string {
  return joined(unitsUsed(units));
}

export function recordUnitsText(units: UsageShape['units']): string {
  return joined(UNITS.map((unit) => ({ unit, quantity: units[unit] ?? 0 })).filter(({ quantity }) => quantity > 0));
}

function joined(units: readonly { unit: Unit; quantity: number }[]): string {
  return units.map(({ unit, quantity }) => unitText(unit, quantity)).join(' · ');
}

/** What is left of units without a part of them. */
export function unitsWithout(whole: UnitUses, part: UnitUses): UnitUses {
  if (whole === null || part === null) return null;
  const rest = UNITS.flatMap((unit) => {
    const { [unit]: use } = whole;
    if (use === undefined) return [];
    const { quantity, cost } = part[unit] ?? { quantity: 0, cost: '0' };
    return [[unit, { quantity: use.quantity - quantity, cost: usdOf(nanoOf(use.cost) - nanoOf(cost)) }] as const];
  });
  return Object.fromEntries(rest);
}
