// All parts of a price with their labels. Pure.

import type { ModelShape } from '../../../src/admin-api/shapes.ts';
import { TIERS, tierLabels } from '../../labels.ts';
import { nanoOf } from '../../money.ts';
import { RATES, type RateName, rateLabels } from './form-values.ts';

export interface PricePart {
  label: string;
  rate: string;
}

/** Whether tokens of text have a price. If not, the model has prices of other units alone. */
export function hasTokenPrice({ units, input, output }: ModelShape['price']): boolean {
  return units === undefined || nanoOf(input) > 0n || nanoOf(output) > 0n;
}

export function partsOf(price: ModelShape['price']): PricePart[] {
  const { long_context: long, web_search_per_thousand: search } = price;
  return [
    ...(hasTokenPrice(price) ? RATES.map((name) => ({ label: rateLabels[name] as string, rate: price[name] })) : []),
    ...(long === undefined
      ? []
      : RATES.map((name) => ({ label: `${rateLabels[name]}, long context`, rate: long[name] }))),
    ...TIERS.flatMap((tier) => partsOfTier(price[tier], tierLabels[tier].toLowerCase())),
    ...(search === undefined ? [] : [{ label: 'Web search, per thousand', rate: search }]),
    ...partsOfUnits(price.units ?? {}),
  ];
}

export function partsOfUnits({ per_image: images, ...rates }: NonNullable<ModelShape['price']['units']>): PricePart[] {
  const rows = typeof images === 'string' ? { '*': images } : (images ?? {});
  return [
    ...Object.entries(rates).map(([name, rate]) => ({
      label: unitLabels[name as keyof typeof unitLabels],
      rate: String(rate),
    })),
    ...Object.entries(rows).map(([kind, rate]) => ({ label: kind === '*' ? 'Image' : `Image, ${kind}`, rate })),
  ];
}

const unitLabels = {
  audio_input: 'Audio input',
  audio_output: 'Audio output',
  image_input: 'Image input',
  image_output: 'Image output',
  per_million_characters: 'Characters, per million',
  per_hour: 'Sound, per hour',
  per_thousand_searches: 'Searches, per thousand',
} as const;

function partsOfTier(tier: ModelShape['price']['fast'], label: string): PricePart[] {
  if (tier === undefined) return [];
  const partsOf = (rates: Record<RateName, string>, words: string) =>
    RATES.map((name) => ({ label: `${rateLabels[name]}, ${words}`, rate: rates[name] }));
  const { long_context: long } = tier;
  return [...partsOf(tier, label), ...(long === undefined ? [] : partsOf(long, `${label}, long context`))];
}
