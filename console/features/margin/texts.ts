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
  traffic: { label: 'Volume', text: 'More or fewer tokens in all' },
  models: { label: 'Model mix', text: 'Another share of each model' },
  groups: { label: 'Group mix', text: 'Another share of each group, with its multiplier' },
  routes: { label: 'Routes', text: 'Another share of each provider, such as fallback routes' },
  cache: { label: 'Cache', text: 'Another part of the prompts was read from or written to the cache' },
  lengths: { label: 'Prompt and answer lengths', text: 'Another ratio of input to output' },
  multiplier: { label: 'Price multipliers', text: 'Multipliers of groups were changed' },
  written_off: { label: 'Write-offs', text: 'Another part of the cost could not be charged' },
  price: { label: 'Prices', text: 'What customers pay for the same tokens' },
  provider_price: { label: 'Provider prices', text: 'What providers charge for the same tokens' },
  other: { label: 'Other', text: 'What nothing above explains' },
};

/** "−3.25%"; "–" without revenue. */
export function marginPercent(percent: number | null): string {
  return percent === null ? '–' : `${percent.toLocaleString('en', { maximumFractionDigits: 2 }).replace('-', '−')}%`;
}
