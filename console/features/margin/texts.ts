// Words of the margin page, and the filters that its address keeps.

import type { MarginChangeShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { groupingIn, groupingLabels } from '../../groupings.ts';

const { day: _, session: __, agent: ___, ...marginGroupings } = groupingLabels;

export { marginGroupings };

/** The grouping of the rows. Until the name of a tag is known, it is by model. */
export function marginGroupingOf(values: Readonly<Record<string, string>>): keyof typeof marginGroupings {
  const grouping = groupingIn(values, marginGroupings) ?? 'model';
  return grouping === 'tag' && (values['tag_name'] ?? '') === '' ? 'model' : grouping;
}

/** Filters of the API that the address may have. */
export const filterLabels = { model: 'Model', group: 'Group', account: 'Account', key: 'API key', tag: 'Tag' } as const;
export type FilterName = keyof typeof filterLabels;

export function filtersOf(values: Readonly<Record<string, string>>): Query {
  return Object.fromEntries(
    Object.keys(filterLabels).flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  );
}

interface EffectTexts {
  label: string;
  text: string;
}

export const effectTexts: Readonly<Record<MarginChangeShape['effect'], EffectTexts>> = {
  traffic: { label: 'Volume', text: 'The number of tokens changed' },
  models: { label: 'Model mix', text: 'The share of each model changed' },
  groups: { label: 'Group mix', text: 'The share of each group, with its multiplier, changed' },
  routes: { label: 'Routes', text: 'The share of each provider changed, for example by fallback routes' },
  cache: { label: 'Cache', text: 'The share of prompts read from or written to the cache changed' },
  lengths: { label: 'Prompt and response lengths', text: 'The ratio of input to output changed' },
  multiplier: { label: 'Price multipliers', text: 'The multipliers of groups changed' },
  written_off: { label: 'Write-offs', text: 'The share of the cost that could not be charged changed' },
  price: { label: 'Prices', text: 'What customers pay for the same tokens changed' },
  provider_price: { label: 'Provider prices', text: 'What providers charge for the same tokens changed' },
  other: { label: 'Other', text: 'Everything that the effects above do not explain' },
};

/** "−3.3%", with the digits of the others in its column; "–" without revenue. */
export function marginPercent(percent: number | null): string {
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return percent === null ? '–' : `${percent.toLocaleString('en', digits).replace('-', '−')}%`;
}
